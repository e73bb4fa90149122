/** A model provider that uses the chat completions API of OpenAI and compatible servers, with streaming. */
import { defined } from '../base/defined.ts';
import type { Response } from 'undici';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import type { NetworkAccess } from '../egress/destination.ts';
import { retryAfter } from '../egress/retry-after.ts';
import type { Attachment, ModelCall, ModelProvider, ModelRequest, ProviderResponse } from '../ports/models.ts';
import { type ProviderFailure, answerOf } from './chat-stream.ts';
import { guardedPost, textWithin } from './guarded-post.ts';
import type { ProviderKeys } from './provider-keys.ts';

export interface ChatCompletionsOptions {
  readonly baseUrl: string;
  /** the provider's name of the model */
  readonly model: string;
  /** `secretArn`: one key for all projects. `keyName`: a secret of the run's project. Without both, no key is sent. */
  readonly secretArn?: string;
  readonly keyName?: string;
  readonly keys: ProviderKeys;
  readonly networkAccess: NetworkAccess;
}

const maxErrorBytes = 65_536;
/** Parameters that this adapter sets. */
const reservedParams = ['model', 'messages', 'stream', 'stream_options', 'n'];
const paramNames: Readonly<Record<string, string>> = { maxTokens: 'max_tokens', topP: 'top_p', stopSequences: 'stop' };

export class ChatCompletions implements ModelProvider {
  readonly #options: ChatCompletionsOptions;

  constructor(options: ChatCompletionsOptions) {
    this.#options = options;
  }

  attachmentError(kind: Attachment['kind']): string | undefined {
    return kind === 'image' ? undefined : `the model ${this.#options.model} accepts no attachment of kind ${kind} by URL`;
  }

  async execute(request: Omit<ModelRequest, 'modelId'>, call: ModelCall): Promise<ProviderResponse> {
    const { baseUrl, model, secretArn, keys, networkAccess } = this.#options;
    const key = await this.#key(call);
    if (typeof key === 'object') return key;
    const httpRequest = {
      url: `${baseUrl.replace(/\/+$/, '')}/chat/completions`,
      headers: defined({
        accept: 'text/event-stream',
        'idempotency-key': call.idempotencyToken,
        authorization: key === undefined ? undefined : `Bearer ${key}`,
      }),
      body: {
        ...paramsOf(request.params),
        model,
        messages: [{ role: 'user', content: contentOf(request) }],
        stream: true,
        stream_options: { include_usage: true },
      },
    };
    const answer = await guardedPost(httpRequest, { networkAccess, signal: call.signal }, async (response) =>
      response.status === 200 ? answerOf(response, call) : refusalOf(response),
    );
    if ('unreachable' in answer) {
      if (answer.isForbidden) return { kind: 'failed', cause: 'invalid', code: 'address_forbidden', message: answer.unreachable };
      return { kind: 'failed', cause: 'provider_error', code: 'provider_unreachable', message: answer.unreachable };
    }
    const isKeyRefused = answer.kind === 'failed' && answer.code === 'provider_key_refused';
    if (isKeyRefused && secretArn !== undefined) keys.forget(secretArn);
    return answer;
  }

  async #key({ secrets }: ModelCall): Promise<string | undefined | ProviderFailure> {
    const { secretArn, keyName, keys } = this.#options;
    if (keyName !== undefined) {
      const named = await secrets.resolve(keyName);
      return 'text' in named ? named.text.trim() : keyFailure(named.failure);
    }
    if (secretArn === undefined) return undefined;
    const key = await keys.of(secretArn);
    // Some providers repeat the key in error messages.
    secrets.addRedaction('the key of the model', key);
    return key;
  }
}

const paramsOf = (params: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(params).flatMap(([name, value]): [string, JsonValue][] =>
      reservedParams.includes(name) ? [] : [[(Object.hasOwn(paramNames, name) ? paramNames[name] : undefined) ?? name, value]],
    ),
  );

/** The text alone, or with image URLs that the provider fetches. */
const contentOf = ({ prompt, attachments }: Omit<ModelRequest, 'modelId'>): string | readonly JsonObject[] =>
  attachments.length === 0
    ? prompt
    : [{ type: 'text', text: prompt }, ...attachments.map(({ url }) => ({ type: 'image_url', image_url: { url } }))];

/** The project may not use the secret, the secret is missing, or it cannot be read now. */
const keyFailure = ({ cause, code = 'secret_unavailable', message }: Failure): ProviderFailure =>
  failed(cause === 'forbidden' || cause === 'invalid' ? cause : 'provider_error', code, message);

async function refusalOf(response: Response): Promise<ProviderFailure> {
  const { status } = response;
  const description = `the provider returned status ${status}`;
  // The response to a wrong key may contain a part of the key.
  if (status === 401 || status === 403) return failed('provider_error', 'provider_key_refused', description);
  const providerMessage = messageIn((await textWithin(response, maxErrorBytes)) ?? '');
  const message = providerMessage === '' ? description : `${description}: ${providerMessage}`;
  if (status === 429) {
    const headers = Object.fromEntries(response.headers.entries());
    const retryAfterMs = retryAfter({ headers });
    return { ...failed('rate_limit', 'provider_rate_limit', message), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  }
  const isServerError = status >= 500 || status === 408 || status === 409 || status === 425;
  return failed(isServerError ? 'provider_error' : 'invalid', isServerError ? 'provider_error' : 'provider_refused', message);
}

const failed = (cause: ProviderFailure['cause'], code: string, message: string): ProviderFailure => ({
  kind: 'failed',
  cause,
  code,
  message,
});

const messageIn = (text: string): string => {
  try {
    const { error }: { error?: { message?: unknown } } = JSON.parse(text);
    return typeof error?.message === 'string' ? error.message : '';
  } catch {
    return '';
  }
};
