/** Where nodes and steps leave their marks: an address of the public internet, because nodes may reach no other. */
export const effectServerAddress = '198.41.0.4';
export const effectServerUrl = `http://${effectServerAddress}`;
