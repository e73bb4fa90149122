/** The system clock and the system ids fulfil the contracts of their ports. */
import { setTimeout as delay } from 'node:timers/promises';
import { SystemClock, SystemIds } from '../../lib/aws/system.ts';
import { clockSuite } from './clock.suite.ts';
import { idsSuite } from './ids.suite.ts';

const advance = async (time: number): Promise<void> => {
  await delay(time);
};

clockSuite({ name: 'system', open: async () => ({ port: { clock: new SystemClock(), advance }, close: async () => {} }) });
idsSuite({ name: 'system', ids: new SystemIds() });
