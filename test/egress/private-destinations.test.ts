import { describe, expect, it } from 'vitest';
import { privateDestinations } from '../../lib/api/schemas/private-destinations.ts';
import { type Address, destinationOf, forbiddenMessage, publicInternet } from '../../lib/egress/destination.ts';
import { networkAccessOf } from '../../lib/egress/private-destinations.ts';

const named = (address: string): Address => ({ address, family: address.includes(':') ? 6 : 4 });

/** Whether a request reaches the host while its name has these addresses. */
const reaches = async (entries: readonly string[], host: string, addresses: readonly string[] = [host]): Promise<boolean> => {
  const access = { ...networkAccessOf(entries), resolve: () => Promise.resolve(addresses.map(named)) };
  return 'addresses' in (await destinationOf(host, access));
};

const everything = ['0.0.0.0/0', '::/0', '169.254.0.0/16', 'fe80::/10', 'fd00:ec2::/32', '127.0.0.0/8', '::ffff:0:0/96'];

describe('addresses of metadata services and of the link', () => {
  it.each([
    '169.254.169.254',
    '169.254.170.2',
    '169.254.0.1',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '[fd00:ec2::23]',
    '[::ffff:10.0.0.1]',
    '[::ffff:169.254.169.254]',
    '[64:ff9b::a00:1]',
    '127.0.0.1',
    '[::1]',
    '0.0.0.0',
    '[::]',
    '100.100.100.200',
    '224.0.0.1',
    '255.255.255.255',
  ])('%s stays forbidden, also if the setting names it', async (host) => {
    expect(await reaches(everything, host)).toBe(false);
    expect(await reaches([...everything, host.replace(/[[\]]/g, '')], host)).toBe(false);
  });

  it('a listed host with such an address is forbidden too', async () => {
    expect(await reaches(['inner.test', ...everything], 'inner.test', ['169.254.169.254'])).toBe(false);
    expect(await reaches(['inner.test'], 'inner.test', ['127.0.0.1'])).toBe(false);
  });
});

describe('the setting privateDestinations', () => {
  it('allows nothing private by default', async () => {
    expect(networkAccessOf([])).toBe(publicInternet);
    expect(await reaches([], '10.0.0.1')).toBe(false);
  });

  it('allows the addresses of a listed network, by any name, and no other', async () => {
    expect(await reaches(['10.0.0.0/16'], '10.0.255.1')).toBe(true);
    expect(await reaches(['10.0.0.0/16'], '10.1.0.1')).toBe(false);
    expect(await reaches(['10.0.0.0/16'], 'any.test', ['10.0.0.7'])).toBe(true);
    expect(await reaches(['fd12::/16'], '[fd12::1]')).toBe(true);
    expect(await reaches(['192.168.1.5'], '192.168.1.5')).toBe(true);
    expect(await reaches(['192.168.1.5'], '192.168.1.6')).toBe(false);
    expect(await reaches(['100.64.0.0/10'], '100.64.1.1')).toBe(true);
  });

  it('allows the private addresses of a listed host, and of no other host', async () => {
    expect(await reaches(['orders.internal'], 'orders.internal', ['10.0.0.7', '10.0.0.8'])).toBe(true);
    expect(await reaches(['orders.internal'], 'other.internal', ['10.0.0.7'])).toBe(false);
    expect(await reaches(['orders.internal'], '10.0.0.7')).toBe(false);
  });

  it('a name of which one address is forbidden is forbidden', async () => {
    expect(await reaches(['10.0.0.0/16'], 'mixed.test', ['10.0.0.7', '169.254.169.254'])).toBe(false);
  });

  it('public addresses stay allowed', async () => {
    expect(await reaches(['10.0.0.0/16'], '8.8.8.8')).toBe(true);
  });

  it('localhost is an entry of its own', async () => {
    expect(await reaches(['localhost'], 'localhost', ['127.0.0.1', '::1'])).toBe(true);
    expect(await reaches(['localhost'], '127.0.0.1')).toBe(true);
    expect(await reaches(['localhost'], '10.0.0.1')).toBe(false);
    expect(await reaches(['localhost'], '169.254.169.254')).toBe(false);
    expect(await reaches(['localhost'], '[::ffff:127.0.0.1]')).toBe(false);
  });
});

it('a refusal names the setting, the flag and the pin', () => {
  expect(forbiddenMessage('localhost')).toMatch(/^localhost .*privateDestinations.*stepwell start --allow-localhost.*--pin$/);
});

describe('the schema of the setting', () => {
  const problemOf = (...entries: readonly string[]): string =>
    privateDestinations
      .safeParse(entries)
      .error?.issues.map(({ message }) => message)
      .join() ?? 'none';

  it.each(['10.0.0.0/16', '10.0.0.0/8', 'fd00::/8', '192.168.1.5', 'orders.internal', 'orders', 'fd12::1'])(
    'accepts %s',
    (entry) => {
      expect(problemOf(entry)).toBe('none');
    },
  );

  it.each([
    'localhost',
    '127.0.0.1',
    '127.0.0.0/8',
    '::1',
    '169.254.169.254',
    '169.254.0.0/16',
    'fe80::/10',
    'fd00:ec2::254',
    '::ffff:10.0.0.1',
    '0.0.0.0/0',
  ])('says that %s is never reachable', (entry) => {
    expect(problemOf(entry)).toContain('is never reachable');
  });

  it.each(['1.0.0.0/7', 'f000::/4'])('refuses the wide network %s', (entry) => {
    expect(problemOf(entry)).toContain('is too wide');
  });

  it.each(['http://orders.internal', 'Orders.internal', 'orders.internal:80', '*.internal', 'a,b', '', '10.0.0.300'])(
    'refuses %j, which is no destination',
    (entry) => {
      expect(problemOf(entry)).not.toBe('none');
    },
  );
});
