/** Wires the deliveries to registered applications to the network. */
import { settingsFrom } from '../../lib/aws/environment.ts';
import { once } from '../../lib/base/lazy.ts';
import { HttpAppCalls } from '../../lib/egress/app-calls.ts';
import { networkAccessOf } from '../../lib/egress/private-destinations.ts';
import type { Clock } from '../../lib/ports/clock.ts';

/** With the destinations of the installation's setting, which the first delivery reads. */
export const createAppCalls = (clock: Pick<Clock, 'now'>): HttpAppCalls =>
  new HttpAppCalls(
    once(() => networkAccessOf(settingsFrom(process.env).privateDestinations)),
    clock,
  );
