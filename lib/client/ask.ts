/** Sends one request, again where that is safe, and reads its answer. */
import type * as z from 'zod';
import type { Route, RouteBody } from '../api/route.ts';
import { type Asked, type Raw, answerIn, correlationHeader, refusalIn, retryAfterMsIn } from './answers.ts';
import { ComputeClientError, TransportComputeClientError } from './errors.ts';
import type { Open } from './open-shape.ts';
import type { ClientParts } from './options.ts';
import { waitBeforeRetry } from './retry-rule.ts';
import { pause, within } from './within.ts';

export interface CallOptions {
  /** once aborted, the call throws its reason */
  readonly signal?: AbortSignal;
  /** letters, digits and `._:-`, 128 at most; a new one for each call */
  readonly correlationId?: string;
}

export interface Question {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: object;
  /** sent beside the body, as the file of a form */
  readonly file?: Uint8Array<ArrayBuffer>;
  readonly idempotencyKey?: string | undefined;
  /** the body has a key of its own */
  readonly isBodyKeyed?: boolean;
}

/** @param schema of the route's answer */
export const ask = async <Schema extends z.ZodType>(
  parts: ClientParts,
  route: Route,
  schema: Schema,
  question: Question,
  { signal, correlationId = parts.newId() }: CallOptions = {},
): Promise<Open<z.output<Schema>>> => {
  const { operationId, action } = route;
  const asked = { operationId, correlationId };
  const isKeyed = question.idempotencyKey !== undefined || question.isBodyKeyed === true;
  const url = `${parts.baseUrl}${pathOf(route, question)}`;
  const init = initOf(parts, route, question, correlationId);
  for (let triesBefore = 0; ; triesBefore += 1) {
    const came = await tried(parts, { url, init, asked, signal });
    const hasAnswer = !(came instanceof ComputeClientError);
    if (hasAnswer && Object.hasOwn(route.answers, came.status)) return answerIn(came, schema, asked);
    const error = hasAnswer ? refusalIn(came, asked) : came;
    const retryAfterMs = hasAnswer ? retryAfterMsIn(came.headers) : undefined;
    const waitMs = waitBeforeRetry({ operationId, action, isKeyed }, error, { triesBefore, retryAfterMs, random: parts.random });
    if (waitMs === undefined || triesBefore === parts.retries) throw error;
    await pause(parts.sleep, waitMs, signal);
  }
};

export const tried = async (
  { fetchImpl, sleep, timeoutMs }: Pick<ClientParts, 'fetchImpl' | 'sleep' | 'timeoutMs'>,
  { url, init, asked, signal }: { url: string; init: RequestInit; asked: Asked; signal: AbortSignal | undefined },
): Promise<Raw | ComputeClientError> => {
  const trouble = (kind: 'network' | 'timeout', message: string, cause?: unknown) =>
    new TransportComputeClientError({ ...asked, kind, status: 0, message: `${asked.operationId}: ${message}`, cause });
  try {
    const answered = await within(timeoutMs, { sleep, signal }, async (stop) => {
      const response = await fetchImpl(url, { ...init, signal: stop });
      return { status: response.status, headers: response.headers, text: await response.text() };
    });
    return answered.isInTime ? answered.value : trouble('timeout', `no answer within ${timeoutMs} ms`);
  } catch (cause) {
    signal?.throwIfAborted();
    return trouble('network', 'the service could not be reached, or its answer broke off', cause);
  }
};

/** A parameter that cannot be one would change the path, so it never leaves: `..` names another route. */
export const pathOf = ({ operationId, path, params: schema }: Route, { params = {}, query = {} }: Question): string => {
  const fault = schema?.safeParse(params).error?.issues[0];
  if (fault !== undefined) throw new TypeError(`${operationId}: ${fault.path.join('/')} ${fault.message}`);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_braces, name: string) => encodeURIComponent(params[name] ?? ''));
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) given.set(key, String(value));
  return given.size === 0 ? filled : `${filled}?${given.toString()}`;
};

const initOf = (
  { apiKey }: ClientParts,
  { method, body: described }: Route,
  { body, file, idempotencyKey }: Question,
  correlationId: string,
): RequestInit => {
  const form = file === undefined ? undefined : formOf(described, JSON.stringify(body), file);
  return {
    method,
    headers: {
      Accept: 'application/json',
      Authorization: `Bearer ${apiKey}`,
      [correlationHeader]: correlationId,
      // A form says its own, with what stands between its parts.
      ...(body === undefined || form !== undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
    },
    ...(body === undefined ? {} : { body: form ?? JSON.stringify(body) }),
    // The key goes to the address that it was given for, and nowhere else.
    redirect: 'manual',
  };
};

const formOf = (described: RouteBody | undefined, text: string, file: Uint8Array<ArrayBuffer>): FormData => {
  if (described?.form === undefined) throw new TypeError('this route takes no file');
  const form = new FormData();
  form.append(described.form.text, text);
  form.append(described.form.file, new Blob([file], { type: 'application/gzip' }), described.form.file);
  return form;
};
