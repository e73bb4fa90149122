/** The custom resource protocol of CloudFormation: parses a request, handles it and sends the response. */
import type { Logger } from '@aws-lambda-powertools/logger';
import * as z from 'zod';
import { signInKeys } from '../../lib/api/schemas/console-setting.ts';
import { applicationKeys, firstKeySetting, seedKeys } from '../../lib/api/schemas/seed-keys.ts';
import { defined } from '../../lib/base/defined.ts';
import { type RetryLimits, retry } from '../../lib/base/retry.ts';
import { secretArnPattern } from '../../lib/contract/secret-arn.ts';
import { storedSettingNames } from '../../lib/contract/stored-settings.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { KeyRegistrationError } from '../../lib/service/access/register-keys.ts';
import { saveSettings } from '../../lib/service/access/stored-settings.ts';
import { beginSweeping } from '../../lib/service/execution/begin-sweeping.ts';
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
    const previous =
      parsed.RequestType === 'Update' ? parsed.OldResourceProperties : { SeedKeys: [], SignInKeys: [], Settings: [] };
    await retryWhileDenied(() => beginSweeping(ports), sleep);
    const provisioned = await retryWhileDenied(() => provisionKeys(ports, parsed.ResourceProperties, previous), sleep);
    // CloudFormation updates the functions that read these settings after this response.
    await retryWhileDenied(() => saveSettings(ports, parsed.ResourceProperties.Settings, previous.Settings), sleep);
    if (provisioned.retired.length > 0)
      logger.warn('keys of the settings seedKeys and console stay revoked: register a new key under a new keyId', {
        ...provisioned,
      });
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

const jsonText = <Schema extends z.ZodType>(schema: Schema) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema);

const settingVersions = z.array(
  z.strictObject({ name: z.enum(storedSettingNames), version: z.string().min(1), text: z.string() }),
);

const properties = z.looseObject({
  SecretArn: z.string().regex(secretArnPattern),
  FirstKey: jsonText(firstKeySetting),
  SeedKeys: jsonText(seedKeys),
  SignInKeys: jsonText(signInKeys).default([]),
  Settings: jsonText(settingVersions),
  ApplicationKeys: jsonText(applicationKeys).default([]),
});
export type KeyProperties = z.output<typeof properties>;

const requestFields = {
  ResponseURL: z.url({ protocol: /^https?$/ }),
  StackId: z.string(),
  RequestId: z.string(),
  LogicalResourceId: z.string(),
};

/** The fields that a response needs. With them, even an invalid request gets a response. */
const resourceRequestShape = z.looseObject({ ...requestFields, PhysicalResourceId: z.string().exactOptional() });
type ResourceRequest = z.output<typeof resourceRequestShape>;

const eventShape = z.discriminatedUnion('RequestType', [
  z.looseObject({ RequestType: z.literal('Create'), ResourceProperties: properties }),
  z.looseObject({
    RequestType: z.literal('Update'),
    ResourceProperties: properties,
    OldResourceProperties: z.looseObject({
      SeedKeys: jsonText(seedKeys).catch([]),
      // A stack of a version without identity providers sends none.
      SignInKeys: jsonText(signInKeys).catch([]),
      // A stack of a version without stored settings sends none.
      Settings: jsonText(settingVersions).catch([]),
    }),
  }),
  z.looseObject({ RequestType: z.literal('Delete') }),
]);

type Outcome = { readonly status: 'SUCCESS' } | { readonly status: 'FAILED'; readonly reason: string };

/** Must never change: CloudFormation deletes the resource with the old id when the id changes. */
const physicalResourceId = 'stepwell-keys';

/** Sends the response to the presigned URL of the request. It contains only the result. @throws if that fails, so that Lambda retries */
async function sendResponse(request: ResourceRequest, outcome: Outcome): Promise<void> {
  const { StackId, RequestId, LogicalResourceId, PhysicalResourceId = physicalResourceId } = request;
  const body = JSON.stringify(
    defined({
      Status: outcome.status,
      Reason: outcome.status === 'FAILED' ? outcome.reason : undefined,
      StackId,
      RequestId,
      LogicalResourceId,
      PhysicalResourceId,
      NoEcho: true,
    }),
  );
  // As bytes: the URL is signed for a request without a content type, and fetch adds one to a string body.
  const response = await fetch(request.ResponseURL, { method: 'PUT', body: Buffer.from(body) });
  if (!response.ok) throw new Error(`CloudFormation rejected the response of the custom resource: HTTP ${response.status}`);
}
