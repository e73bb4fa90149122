/** The address of the effect server: a public one, because nodes may not request private addresses. */
export const effectServerAddress = '198.41.0.4';
export const effectServerUrl = `http://${effectServerAddress}`;
