// The tools of a session for the official client of MCP, which has no key: it finds the app's issuer from the 401, gets
// an access token there for the MCP URL, and comes with that as the user.
//
//   node oauth.mjs http://127.0.0.1:8080/v1/apps/clinic/sessions/s1/mcp ISSUER CLIENT-ID CLIENT-SECRET
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, expectedIssuer, clientId, clientSecret] = process.argv.slice(2);
const authProvider = new ClientCredentialsProvider({ expectedIssuer, clientId, clientSecret });
const client = new Client({ name: 'clinic', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }));
console.log('tools:', (await client.listTools()).tools.map((tool) => tool.name).join(' '));
console.log('mine:', (await client.callTool({ name: 'my-appointments', arguments: {} })).content[0].text);
await client.close();
