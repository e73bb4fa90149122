/** Handles one request of CloudFormation and sends its response. */
import type { Logger } from '@aws-lambda-powertools/logger';
import { type RetryLimits, retry } from '../../lib/base/retry.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { KeyRegistrationError } from '../../lib/service/access/register-keys.ts';
import { saveSettings } from '../../lib/service/access/stored-settings.ts';
import { beginSweeping } from '../../lib/service/execution/begin-sweeping.ts';
import { eventShape, type Outcome, resourceRequestShape, sendResponse } from './event.ts';
import { type KeyProvisioningPorts, provisionKeys } from './provision-keys.ts';

export interface ResourceEventDeps {
  readonly ports: KeyProvisioningPorts;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** Logs only what was done: the event and the services' responses can contain secrets. */
export async function handleResourceEvent(deps: ResourceEventDeps, event: unknown): Promise<void> {
  const request = resourceRequestShape.parse(event);
  await sendResponse(request, await processEvent(deps, event));
}

async function processEvent({ ports, logger, sleep }: ResourceEventDeps, event: unknown): Promise<Outcome> {
  try {
    const parsed = eventShape.parse(event);
    // Deleting the stack retains the data, so its keys are retained too.
    if (parsed.RequestType === 'Delete') return { status: 'SUCCESS' };
    const previous = parsed.RequestType === 'Update' ? parsed.OldResourceProperties : { SeedKeys: [], Settings: [] };
    await retryWhileDenied(() => beginSweeping(ports), sleep);
    const provisioned = await retryWhileDenied(() => provisionKeys(ports, parsed.ResourceProperties, previous.SeedKeys), sleep);
    // CloudFormation updates the functions that read these settings after this response.
    await retryWhileDenied(() => saveSettings(ports, parsed.ResourceProperties.Settings, previous.Settings), sleep);
    if (provisioned.retired.length > 0)
      logger.warn('keys of the setting seedKeys stay revoked: register a new key under a new keyId', { ...provisioned });
    else logger.info('keys registered', { ...provisioned });
    return { status: 'SUCCESS' };
  } catch (error) {
    const reason = reasonOf(error);
    logger.error('keys and settings could not be written', { reason });
    return { status: 'FAILED', reason };
  }
}

/** The reason shown in the deployment. Messages of unknown errors can contain secrets, so only the error's name is shown. */
const reasonOf = (error: unknown): string => {
  if (error instanceof KeyRegistrationError) return error.message;
  if (error instanceof Unavailable) return `An AWS service is unavailable: ${error.message}`;
  return `the keys and settings could not be written: ${error instanceof Error ? error.name : 'unknown error'}`;
};

/** IAM is eventually consistent: requests of a new role are denied at first. */
const permissionLimits: RetryLimits = { attempts: 20, backoff: { baseMs: 5_000, factor: 1 } };

const isDenied = (error: unknown): boolean =>
  error instanceof Error && /^(AccessDenied|UnrecognizedClient|InvalidClientTokenId)/.test(error.name);

/** Retries a denied request for up to 95 seconds. */
const retryWhileDenied = <Result>(operation: () => Promise<Result>, sleep: ResourceEventDeps['sleep']): Promise<Result> =>
  retry(operation, { ...permissionLimits, isRetryable: isDenied }, { sleep });
