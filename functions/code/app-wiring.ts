/** Wires the deliveries to registered applications to the network. */
import { settingsFrom } from '../../lib/aws/environment.ts';
import { once } from '../../lib/base/lazy.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { AppCalls } from '../../lib/ports/devkit.ts';

/**
 * With the destinations of the installation's setting. The first delivery loads the HTTP client, which is half of the bundle: most
 * installations have no such application.
 */
export function createAppCalls(clock: Pick<Clock, 'now'>): AppCalls {
  const load = once(async () => {
    const [{ HttpAppCalls }, { networkAccessOf }] = await Promise.all([
      import('../../lib/egress/app-calls.ts'),
      import('../../lib/egress/private-destinations.ts'),
    ]);
    return new HttpAppCalls(
      once(() => networkAccessOf(settingsFrom(process.env).privateDestinations)),
      clock,
    );
  });
  return { post: async (...request) => (await load()).post(...request) };
}
