/** The version of the client, which is that of the service it belongs to. */
export const version = '0.1.0';
