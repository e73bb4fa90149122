/** The format of a ticket for the event stream of a run: `st_` and 256 random bits. It is part of an address, so it is short-lived and can be used once. */
export const ticketPattern = /^st_[A-Za-z0-9_-]{43}$/;

/** @param random returns cryptographically random bytes */
export const newTicket = (random: (count: number) => Uint8Array): string => `st_${Buffer.from(random(32)).toString('base64url')}`;
