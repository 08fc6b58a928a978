// The tools of a session for @toolbox-sdk/core, Toolbox's own client: all of them, and those of
// one repository, which it knows as a toolset.
//
//   node toolbox.mjs http://127.0.0.1:8080/v1/apps/clinic/sessions/s1 "$KEY" ID-TOKEN
import { ToolboxClient } from '@toolbox-sdk/core';

const [url, key, idToken] = process.argv.slice(2);
const client = new ToolboxClient(url, null, { Authorization: `Bearer ${key}` });
const names = (tools) => tools.map((tool) => tool.getName()).join(' ');

const all = await client.loadToolset();
console.log('all:', names(all));
const desk = await client.loadToolset('desk');
console.log('desk:', names(desk));
const book = desk.find((tool) => tool.getName() === 'book');
console.log('booked:', await book({ day: 'Friday' }));

// It fires for a user whom the app's service corp has verified, and for nobody else.
const mine = await client.loadTool('my-appointments');
console.log('without a user:', await mine().catch((fault) => fault.message));
console.log('with a user:', await mine.addAuthTokenGetter('corp', () => idToken)());
console.log('revision:', client.protocolVersion);
