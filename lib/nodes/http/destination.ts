/**
 * From a host name to the addresses that may be connected to. A name is looked up once; every address it has must be
 * allowed, and the connection is made to these and no others, so a name that answers differently a moment later gains
 * nothing. Addresses written as numbers take the same way.
 */
import { lookup } from 'node:dns/promises';
import { type LookupFunction, isIP } from 'node:net';
import { Agent } from 'undici';
import { isPublicAddress } from './address-rule.ts';

export interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

/** What decides where requests may go; production uses `publicInternet`, tests bring their own. */
export interface NetworkAccess {
  isAllowed(address: string): boolean;
  /** every address of the name; rejects where there is none */
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

/** @param hostname as a parsed URL has it: names in lower case, IPv4 in four decimals, IPv6 in brackets */
export async function destinationOf(hostname: string, networkAccess: NetworkAccess): Promise<Destination> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const addresses = await addressesOf(host, networkAccess);
  if (addresses.length === 0) return { refused: 'unknown' };
  return addresses.every(({ address }) => networkAccess.isAllowed(address)) ? { addresses } : { refused: 'forbidden' };
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

/** Connections of one request, to these addresses alone; it looks at no proxy settings of the environment. */
export const pinnedAgent = (addresses: readonly Address[]): Agent =>
  new Agent({
    connect: { lookup: pinnedLookup(addresses) },
    // The node's own time limit covers all of a request, however it is spent.
    headersTimeout: 0,
    bodyTimeout: 0,
    connectTimeout: 0,
  });

const pinnedLookup =
  (addresses: readonly Address[]): LookupFunction =>
  (_name, options, done) => {
    const [first] = addresses;
    if (options.all === true || first === undefined) done(null, [...addresses]);
    else done(null, first.address, first.family);
  };
