/** Wires the function of the triggers to its setting and to their dead-letter queues. */
import { queueClient } from '../../lib/aws/clients.ts';
import { SqsDeadLetters } from '../../lib/aws/dead-letters.ts';
import { once } from '../../lib/base/lazy.ts';
import type { DeadLetters } from '../../lib/ports/dead-letters.ts';
import { type StoredTrigger, storedTriggers } from '../../lib/triggers/setting.ts';
import { storedSetting } from '../settings-wiring.ts';

export const createTriggersReader = (): (() => Promise<readonly StoredTrigger[]>) => storedSetting('triggers', storedTriggers);

export const createDeadLetters = (): (() => DeadLetters) => once(() => new SqsDeadLetters(queueClient()));
