/** Uploads an archive to a presigned address. It sends no API key, and repeating the same upload is safe. */
import { type CallOptions, sendOnce } from './send-request.ts';
import { ComputeClientError } from './errors.ts';
import { type ClientConfig, validateInteger } from './options.ts';
import { sendWithRetry } from './retry-policy.ts';
import { readRetryAfterMs } from './parse-response.ts';

/** The upload that `createDeployment` returned. */
export interface Upload {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface UploadOptions extends CallOptions {
  /** timeout of one attempt in milliseconds, default 300,000 */
  readonly timeoutMs?: number;
}

const defaultUploadTimeoutMs = 300_000;
const operationId = 'uploadArtifact';

/** @throws ComputeClientError with the error code of S3, such as `AccessDenied` after the address has expired */
export const uploadArchive = async (
  config: ClientConfig,
  { method, url, headers }: Upload,
  archive: Uint8Array<ArrayBuffer>,
  { signal, correlationId = config.newId(), timeoutMs = defaultUploadTimeoutMs }: UploadOptions = {},
): Promise<void> => {
  const requestContext = { operationId, correlationId };
  const init: RequestInit = { method, headers: { ...headers }, body: archive, redirect: 'manual' };
  const uploadConfig = { ...config, timeoutMs: validateInteger('timeoutMs', timeoutMs, 1) };
  await sendWithRetry(config, { operationId, hasIdempotencyKey: false }, signal, async () => {
    const outcome = await sendOnce(uploadConfig, { url, init, requestContext, signal });
    if ('error' in outcome || (outcome.status >= 200 && outcome.status < 300)) return outcome;
    return { error: uploadError(outcome, correlationId), retryAfterMs: readRetryAfterMs(outcome.headers) };
  });
};

/** Keeps only the error code of the response, because S3 repeats the signed request in it. */
const uploadError = ({ status, text }: { status: number; text: string }, correlationId: string): ComputeClientError => {
  const errorCode = /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1];
  const statusText = errorCode === undefined ? String(status) : `${status} ${errorCode}`;
  return new ComputeClientError({
    status,
    message: `${operationId}: refused (${statusText})`,
    correlationId,
    causeBody: errorCode,
  });
};
