/** The connections of a request whose destination is allowed. Apart from the rule, which functions without an HTTP client need too. */
import type { LookupFunction } from 'node:net';
import { Agent } from 'undici';
import type { Address } from './destination.ts';

/** An agent for one request that connects only to these addresses. It ignores proxy settings of the environment. */
export const pinnedAgent = (addresses: readonly Address[]): Agent =>
  new Agent({
    connect: { lookup: pinnedLookup(addresses) },
    // The caller's time limit covers the whole request.
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
