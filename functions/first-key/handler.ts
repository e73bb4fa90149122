/** Answers CloudFormation, which asks for the first key and those of the configuration when the stack is deployed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { loggerOf } from '../wiring.ts';
import { take } from './take.ts';
import { keeperHere } from './wiring.ts';

const taker = { keeper: keeperHere(), logger: loggerOf('first-key'), sleep };

export const handler = (event: unknown): Promise<void> => take(taker, event);
