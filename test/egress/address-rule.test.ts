import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../lib/egress/destination.ts';

/** Addresses, parted by spaces. */
const words = (text: string): readonly string[] => text.trim().split(/\s+/);

const forbidden = {
  'this machine': words(`
    127.0.0.1 127.0.0.2 127.1.2.3 127.255.255.255 ::1 0:0:0:0:0:0:0:1
  `),
  'no particular address': words(`
    0.0.0.0 0.0.0.1 0.255.255.255 :: 0:0:0:0:0:0:0:0
  `),
  'private networks': words(`
    10.0.0.0 10.0.0.1 10.255.255.255 172.16.0.0 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255
    fc00::1 fd00::1 fd12:3456:789a::1 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
  `),
  'the link, and the metadata and credentials that live on it': words(`
    169.254.0.1 169.254.169.254 169.254.170.2 169.254.170.23 169.254.255.255
    fe80::1 fe80::a9fe:a9fe febf::1 fe80::1%eth0 fd00:ec2::254 fd00:ec2::23 fec0::1
  `),
  'what carriers keep for themselves': words(`
    100.64.0.1 100.127.255.255 100.100.100.200
  `),
  'everybody at once': words(`
    224.0.0.1 239.255.255.250 255.255.255.255 ff02::1 ff0e::1
  `),
  'what is reserved, or kept for documents and for measuring': words(`
    192.0.0.1 192.0.0.170 192.0.2.1 198.51.100.7 203.0.113.9 198.18.0.1 198.19.255.255 192.88.99.1
    240.0.0.1 250.1.2.3 255.255.255.254
    2001:db8::1 2001:db8:ffff::1 3fff::1 3fff:0fff:ffff::1 100::1 2001:2::1 2001:10::1 2001:20::1
    4000::1 5f00::1 e000::1 1234::1 0100:0:0:1::1
  `),
  'another address inside': words(`
    ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:7f00:1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1
    ::127.0.0.1 ::7f00:1 ::8.8.8.8 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b::8.8.8.8
    64:ff9b:1::1 64:ff9b:1:fffe::7f00:1 2002:7f00:1:: 2002:a00:1::1 2002:a9fe:a9fe::1 2001:0:7f00:1::
    2001:0000:4136:e378:8000:63bf:3fff:fdd2
  `),
  'no address in full': words(`
    localhost example.com 127.1 2130706433 0x7f000001 0177.0.0.1
    8.8.8 8.8.8.8.8 [::1]
  `),
};

const allowed = words(`
    8.8.8.8 1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0
    126.255.255.255 128.0.0.1 169.253.255.255 169.255.0.1 172.15.255.255 172.32.0.1
    192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.254 52.94.236.248
    2606:4700::1111 2001:4860:4860::8888 2a00:1450:4001::1 2600:1f18::1
  `);

describe.each(Object.entries(forbidden))('%s', (_what, addresses) => {
  it.each(addresses)('%j is forbidden', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

it('invalid addresses are forbidden', () => {
  expect(isPublicAddress('')).toBe(false);
});

it.each(allowed)('%s is allowed', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

it('the table has more than a hundred addresses', () => {
  expect(Object.values(forbidden).flat().length + allowed.length).toBeGreaterThan(100);
});
