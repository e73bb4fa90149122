/** Wires the registration of applications to the destinations of the installation's setting. */
import { settingsFrom } from '../../lib/aws/environment.ts';
import { once } from '../../lib/base/lazy.ts';
import type { RefuseAppAddress } from '../../lib/service/kinds/devkit/register-app.ts';

/** The first registration loads the rule. A name without an address is registered, because it may get one before the first message. */
export function appAddressRule(): RefuseAppAddress {
  const load = once(async () => {
    const [{ appDestinationOf }, { networkAccessOf }] = await Promise.all([
      import('../../lib/egress/app-address.ts'),
      import('../../lib/egress/private-destinations.ts'),
    ]);
    const access = networkAccessOf(settingsFrom(process.env).privateDestinations);
    return (address: URL) => appDestinationOf(address, access);
  });
  return async (address) => {
    const destination = await (await load())(address);
    return 'refused' in destination && !destination.isUnknown ? destination.refused : undefined;
  };
}
