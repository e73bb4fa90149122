/**
 * Which addresses an author's request may reach: those of the public internet, and none of the machine, its network, its
 * credentials endpoint, or of a range that carries another address inside (IPv4-mapped, NAT64, 6to4, Teredo).
 */
import ipaddr from 'ipaddr.js';

/** Everything that is routed in IPv6 today (RFC 4291, 2.4); what lies outside is refused by not being in it. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');
/** In that range, and not for the public: documentation (RFC 9637). */
const documentation = ipaddr.parseCIDR('3fff::/20');

export function isPublicAddress(address: string): boolean {
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv6' && (!parsed.match(globalUnicast) || parsed.match(documentation))) return false;
  return parsed.range() === 'unicast';
}
