/** One question of CloudFormation, from the door to the answer. */
import type { Logger } from '@aws-lambda-powertools/logger';
import { KeyRegistrationError } from '../../lib/service/access/register-keys.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { beginSweeping } from '../../lib/service/execution/begin-sweeping.ts';
import { saveSettings } from '../../lib/service/access/stored-settings.ts';
import { type Outcome, sendResponse, eventShape, resourceRequestShape } from './event.ts';
import { type KeyProvisioningPorts, provisionKeys } from './provision-keys.ts';
import { retryWhileDenied } from './retry-while-denied.ts';

export interface ResourceEventDeps {
  readonly ports: KeyProvisioningPorts;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** Neither the event nor an answer of the services is logged: only what was done. */
export async function handleResourceEvent(deps: ResourceEventDeps, event: unknown): Promise<void> {
  const request = resourceRequestShape.parse(event);
  await sendResponse(request, await processEvent(deps, event));
}

async function processEvent({ ports, logger, sleep }: ResourceEventDeps, event: unknown): Promise<Outcome> {
  try {
    const parsed = eventShape.parse(event);
    // What is stored outlives the stack, and so do the keys to it.
    if (parsed.RequestType === 'Delete') return { status: 'SUCCESS' };
    const previous = parsed.RequestType === 'Update' ? parsed.OldResourceProperties : { SeedKeys: [], Settings: [] };
    await retryWhileDenied(() => beginSweeping(ports), sleep);
    const provisioned = await retryWhileDenied(() => provisionKeys(ports, parsed.ResourceProperties, previous.SeedKeys), sleep);
    // Functions that read these are changed after this answer.
    await retryWhileDenied(() => saveSettings(ports, parsed.ResourceProperties.Settings, previous.Settings), sleep);
    if (provisioned.retired.length > 0)
      logger.warn('keys of the list stay revoked: another needs another keyId', { ...provisioned });
    else logger.info('the keys are registered', { ...provisioned });
    return { status: 'SUCCESS' };
  } catch (error) {
    const reason = reasonOf(error);
    logger.error('the keys and settings could not be written', { reason });
    return { status: 'FAILED', reason };
  }
}

/** For whoever deploys. What others say may hold anything, so only the kind of it is told. */
const reasonOf = (error: unknown): string => {
  if (error instanceof KeyRegistrationError) return error.message;
  if (error instanceof Unavailable) return `AWS does not answer: ${error.message}`;
  return `the keys and settings could not be written: ${error instanceof Error ? error.name : 'unknown trouble'}`;
};
