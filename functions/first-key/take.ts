/** One question of CloudFormation, from the door to the answer. */
import type { Logger } from '@aws-lambda-powertools/logger';
import { KeyRegistrationFault } from '../../lib/service/register-keys.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { beginSweeping } from '../../lib/service/begin-sweeping.ts';
import { keepSettings } from '../../lib/service/stored-settings.ts';
import { type Outcome, answer, eventShape, questionShape } from './event.ts';
import { type Keeper, keepKeys } from './keep-keys.ts';
import { patiently } from './patiently.ts';

export interface Taker {
  readonly keeper: Keeper;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** Neither the event nor an answer of the services is logged: only what was done. */
export async function take(taker: Taker, event: unknown): Promise<void> {
  const question = questionShape.parse(event);
  await answer(question, await outcomeOf(taker, event));
}

async function outcomeOf({ keeper, logger, sleep }: Taker, event: unknown): Promise<Outcome> {
  try {
    const read = eventShape.parse(event);
    // What is stored outlives the stack, and so do the keys to it.
    if (read.RequestType === 'Delete') return { status: 'SUCCESS' };
    const before = read.RequestType === 'Update' ? read.OldResourceProperties : { SeedKeys: [], Settings: [] };
    await patiently(() => beginSweeping(keeper), sleep);
    const kept = await patiently(() => keepKeys(keeper, read.ResourceProperties, before.SeedKeys), sleep);
    // Functions that read these are changed after this answer.
    await patiently(() => keepSettings(keeper, read.ResourceProperties.Settings, before.Settings), sleep);
    if (kept.retired.length > 0) logger.warn('keys of the list stay revoked: another needs another keyId', { ...kept });
    else logger.info('the keys are registered', { ...kept });
    return { status: 'SUCCESS' };
  } catch (trouble) {
    const reason = reasonOf(trouble);
    logger.error('the keys and settings could not be written', { reason });
    return { status: 'FAILED', reason };
  }
}

/** For whoever deploys. What others say may hold anything, so only the kind of it is told. */
const reasonOf = (trouble: unknown): string => {
  if (trouble instanceof KeyRegistrationFault) return trouble.message;
  if (trouble instanceof Unavailable) return `AWS does not answer: ${trouble.message}`;
  return `the keys and settings could not be written: ${trouble instanceof Error ? trouble.name : 'unknown trouble'}`;
};
