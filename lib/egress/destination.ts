/**
 * Resolves a host name to allowed addresses. The name is resolved once, all its addresses must be allowed, and the connection is
 * pinned to them. A name that resolves differently later (DNS rebinding) has no effect. Numeric addresses are checked the same way.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Decides which addresses requests may reach: `publicInternet`, and with a setting the owner's `networkAccessOf`. */
export interface NetworkAccess {
  /** @param host the name or address in the URL, without brackets */
  isAllowed(address: string, host: string): boolean;
  /** all addresses of the name; rejects when there is none */
  resolve(name: string): Promise<readonly Address[]>;
}

export const publicInternet: NetworkAccess = {
  isAllowed: isPublicAddress,
  resolve: async (name) =>
    (await lookup(name, { all: true, order: 'verbatim' })).map(({ address, family }) => ({
      address,
      family: family === 6 ? 6 : 4,
    })),
};

export type Destination = { readonly addresses: readonly Address[] } | { readonly refused: 'unknown' | 'forbidden' };

/** @param hostname of a parsed URL: names in lower case, IPv4 as four decimals, IPv6 in brackets */
export async function destinationOf(hostname: string, networkAccess: NetworkAccess): Promise<Destination> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const addresses = await addressesOf(host, networkAccess);
  if (addresses.length === 0) return { refused: 'unknown' };
  return addresses.every(({ address }) => networkAccess.isAllowed(address, host)) ? { addresses } : { refused: 'forbidden' };
}

const addressesOf = async (host: string, networkAccess: NetworkAccess): Promise<readonly Address[]> => {
  const version = isIP(host);
  if (version !== 0) return [{ address: host, family: version === 6 ? 6 : 4 }];
  try {
    return await networkAccess.resolve(host);
  } catch {
    return [];
  }
};

/** Why a destination is refused, with both ways out. */
export const forbiddenAddress = (host: string): string =>
  `${host} is not an address of the public internet. The setting privateDestinations allows hosts and networks of your own, ` +
  'and stepwell start --allow-localhost allows this machine';

/** The message of a node whose destination is refused. */
export const forbiddenMessage = (host: string): string =>
  `${forbiddenAddress(host)}; a test can pin the node's output with --pin`;

/** All global unicast IPv6 addresses (RFC 4291, 2.4); other IPv6 addresses are forbidden. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');
/** Documentation range (RFC 9637): inside global unicast, but not public. */
const documentation = ipaddr.parseCIDR('3fff::/20');

/**
 * Whether a request of an author may reach an address: public internet addresses only. Forbidden are the machine, its network, its
 * credentials endpoint, and ranges that embed another address (IPv4-mapped, NAT64, 6to4, Teredo).
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv6' && (!parsed.match(globalUnicast) || parsed.match(documentation))) return false;
  return parsed.range() === 'unicast';
}
