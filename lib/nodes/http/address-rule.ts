/**
 * Decides which addresses an author's request may reach: public internet addresses only. Forbidden are the machine, its network, its
 * credentials endpoint, and ranges that embed another address (IPv4-mapped, NAT64, 6to4, Teredo).
 */
import ipaddr from 'ipaddr.js';

/** All global unicast IPv6 addresses (RFC 4291, 2.4); other IPv6 addresses are forbidden. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');
/** Documentation range (RFC 9637): inside global unicast, but not public. */
const documentation = ipaddr.parseCIDR('3fff::/20');

export function isPublicAddress(address: string): boolean {
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv6' && (!parsed.match(globalUnicast) || parsed.match(documentation))) return false;
  return parsed.range() === 'unicast';
}
