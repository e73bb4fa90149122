/**
 * The setting `privateDestinations`: hosts and networks of the owner that requests of authors may reach, besides the public internet.
 * Addresses of instance and task metadata are never reachable: the setting cannot allow them.
 */
import ipaddr from 'ipaddr.js';
import { localhostDestination } from '../contract/private-destinations.ts';
import { type NetworkAccess, isPublicAddress, publicInternet } from './destination.ts';

type Parsed = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Parsed, number];

/** Ranges of private networks. All others that are not public stay forbidden: link-local, multicast, reserved, embedded addresses. */
const privateRanges: ReadonlySet<string> = new Set(['private', 'uniqueLocal', 'carrierGradeNat']);

/** Metadata and services of the host inside of private ranges: EC2 over IPv6, and other clouds. */
const metadataNetworks: readonly Network[] = ['fd00:ec2::/32', '100.100.100.200/32'].map((text) => ipaddr.parseCIDR(text));

const isIn = (address: Parsed, [network, bits]: Network): boolean =>
  address.kind() === network.kind() && address.match(network, bits);

interface Destinations {
  readonly hosts: ReadonlySet<string>;
  readonly networks: readonly Network[];
  readonly hasLocalhost: boolean;
}

function parseDestinations(entries: readonly string[]): Destinations {
  const hosts = new Set<string>();
  const networks: Network[] = [];
  for (const entry of entries) {
    if (entry === localhostDestination) continue;
    if (ipaddr.isValidCIDR(entry)) networks.push(ipaddr.parseCIDR(entry));
    else if (ipaddr.isValid(entry)) networks.push([ipaddr.parse(entry), entry.includes(':') ? 128 : 32]);
    else hosts.add(entry.toLowerCase());
  }
  return { hosts, networks, hasLocalhost: entries.includes(localhostDestination) };
}

/** The public internet and these destinations. @param entries hosts, addresses, networks, and `localhost` for this machine */
export function networkAccessOf(entries: readonly string[]): NetworkAccess {
  if (entries.length === 0) return publicInternet;
  const { hosts, networks, hasLocalhost } = parseDestinations(entries);
  const isPrivate = (address: Parsed): boolean =>
    privateRanges.has(address.range()) && !metadataNetworks.some((network) => isIn(address, network));
  return {
    ...publicInternet,
    isAllowed(text, host) {
      if (isPublicAddress(text)) return true;
      if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return false;
      const address = ipaddr.parse(text);
      if (address.range() === 'loopback') return hasLocalhost;
      return isPrivate(address) && (hosts.has(host.toLowerCase()) || networks.some((network) => isIn(address, network)));
    },
  };
}
