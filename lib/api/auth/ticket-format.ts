/** The text of a ticket to watch a run: `st_` and 256 bits of chance. It stands in an address, so it is short-lived and used once. */
export const ticketPattern = /^st_[A-Za-z0-9_-]{43}$/;

/** @param random gives that many bytes of cryptographic chance */
export const newTicket = (random: (count: number) => Uint8Array): string => `st_${Buffer.from(random(32)).toString('base64url')}`;
