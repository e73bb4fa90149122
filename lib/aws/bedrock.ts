/** Models and guardrails of Amazon Bedrock. Imported on demand, because the client is large. */
import {
  BedrockRuntimeClient,
  ConverseStreamCommand,
  type ConverseStreamCommandInput,
  type ConverseStreamOutput,
  ApplyGuardrailCommand,
} from '@aws-sdk/client-bedrock-runtime';
import * as z from 'zod';
import { defined } from '../base/defined.ts';
import type { JsonObject } from '../engine/json.ts';
import {
  type Attachment,
  type ModelCall,
  type ModelFailureCause,
  type ModelProvider,
  type ModelRequest,
  type ProviderResponse,
  type Tokens,
  maxResponseLength,
} from '../ports/models.ts';
import type { Decision, Moderation, ModerationPhase } from '../ports/moderation.ts';

/** The node defines attempts and time limits, so the client makes one attempt. */
export const bedrockClient = (): BedrockRuntimeClient => new BedrockRuntimeClient({ maxAttempts: 1 });

type Failed = Extract<ProviderResponse, { kind: 'failed' }>;

const inference = z.object({
  maxTokens: z.int().min(1).exactOptional(),
  temperature: z.number().exactOptional(),
  topP: z.number().exactOptional(),
  stopSequences: z.array(z.string()).exactOptional(),
});

/** Bedrock models through the streaming Converse API. */
export class BedrockModel implements ModelProvider {
  readonly #client: BedrockRuntimeClient;
  readonly #modelId: string;

  constructor(client: BedrockRuntimeClient, modelId: string) {
    this.#client = client;
    this.#modelId = modelId;
  }

  /** Converse accepts attachments as bytes or from S3, not from a URL. */
  attachmentError(kind: Attachment['kind']): string {
    return `Bedrock does not accept a ${kind} by its URL`;
  }

  async execute(request: Omit<ModelRequest, 'modelId'>, call: ModelCall): Promise<ProviderResponse> {
    const input = inputOf(this.#modelId, request, call);
    if ('kind' in input) return input;
    try {
      const { stream } = await this.#client.send(new ConverseStreamCommand(input), { abortSignal: call.signal });
      return stream === undefined
        ? failed('provider_error', 'provider_answer_invalid', 'the response has no stream')
        : await read(stream, call);
    } catch (error) {
      call.signal.throwIfAborted();
      return failureOf(error);
    }
  }
}

function inputOf(modelId: string, { prompt, params }: Omit<ModelRequest, 'modelId'>, call: ModelCall) {
  const parsed = inference.safeParse(params);
  if (!parsed.success)
    return failed('invalid', 'params_invalid', `Bedrock cannot use the params: ${z.prettifyError(parsed.error)}`);
  const others = Object.entries(params).filter(([name]) => !Object.hasOwn(inference.shape, name));
  const input: ConverseStreamCommandInput = {
    modelId,
    messages: [{ role: 'user', content: [{ text: prompt }] }],
    inferenceConfig: parsed.data,
    ...defined({ additionalModelRequestFields: others.length === 0 ? undefined : plain(Object.fromEntries(others)) }),
    // Converse has no idempotency tokens. This names the attempt in the account's invocation log.
    requestMetadata: { attempt: call.idempotencyToken.replaceAll(/[^a-zA-Z0-9\s:_@$#=/+,.-]/g, '-').slice(-256) },
  };
  return input;
}

/** A mutable copy, as the SDK's types require. */
const plain = (params: JsonObject): NonNullable<ConverseStreamCommandInput['additionalModelRequestFields']> =>
  JSON.parse(JSON.stringify(params));

async function read(stream: AsyncIterable<ConverseStreamOutput>, { onText, signal }: ModelCall): Promise<ProviderResponse> {
  let text = '';
  let tokens: Tokens | undefined;
  let stopReason: string | undefined;
  for await (const event of stream) {
    signal.throwIfAborted();
    const chunk = event.contentBlockDelta?.delta?.text ?? '';
    text += chunk;
    if (text.length > maxResponseLength)
      return failed('invalid', 'answer_too_large', `the response is longer than ${maxResponseLength} characters`);
    if (chunk !== '') onText?.(chunk);
    stopReason = event.messageStop?.stopReason ?? stopReason;
    const usage = event.metadata?.usage;
    if (usage !== undefined) tokens = { input: usage.inputTokens ?? 0, output: usage.outputTokens ?? 0 };
    const error =
      event.throttlingException ??
      event.serviceUnavailableException ??
      event.internalServerException ??
      event.modelStreamErrorException ??
      event.validationException;
    if (error !== undefined) return failureOf(error);
  }
  // The stream of an aborted call ends without an error.
  signal.throwIfAborted();
  if (stopReason === undefined)
    return failed('provider_error', 'stream_broken', 'the stream ended before the response was complete');
  return defined({ kind: 'completed', mediaType: 'text', text, tokens, metadata: { finishReason: stopReason } });
}

const failed = (cause: ModelFailureCause, code: string, message: string): Failed => ({ kind: 'failed', cause, code, message });

const rateLimits = new Set(['ThrottlingException', 'TooManyRequestsException', 'ServiceQuotaExceededException']);
/** Errors that a retry of the same request would get again. */
const refusals = new Set(['ValidationException', 'AccessDeniedException', 'ResourceNotFoundException']);

function failureOf(error: unknown): Failed {
  if (!(error instanceof Error)) return failed('provider_error', 'provider_error', String(error));
  const message = `Bedrock: ${error.message === '' ? error.name : error.message}`.slice(0, 600);
  if (rateLimits.has(error.name)) return failed('rate_limit', 'provider_rate_limit', message);
  return refusals.has(error.name)
    ? failed('invalid', 'provider_refused', message)
    : failed('provider_error', 'provider_error', message);
}

/** Moderation with a Bedrock guardrail. Only the action NONE allows a text. */
export class BedrockGuardrail implements Moderation {
  readonly #client: BedrockRuntimeClient;
  readonly #guardrail: { readonly arn: string; readonly version: string };

  constructor(client: BedrockRuntimeClient, guardrail: { readonly arn: string; readonly version: string }) {
    this.#client = client;
    this.#guardrail = guardrail;
  }

  async check(phase: ModerationPhase, text: string, signal: AbortSignal): Promise<Decision> {
    if (text === '') return { kind: 'allowed' };
    const command = new ApplyGuardrailCommand({
      guardrailIdentifier: this.#guardrail.arn,
      guardrailVersion: this.#guardrail.version,
      source: phase === 'input' ? 'INPUT' : 'OUTPUT',
      content: [{ text: { text } }],
    });
    try {
      const { action, actionReason, assessments } = await this.#client.send(command, { abortSignal: signal });
      if (action === 'NONE') return { kind: 'allowed' };
      if (action !== 'GUARDRAIL_INTERVENED') return { kind: 'unavailable', message: 'the guardrail returned no decision' };
      const policies = new Set((assessments ?? []).flatMap((each) => Object.keys(each).filter((key) => key.endsWith('Policy'))));
      return defined({
        kind: 'blocked',
        policy: policies.size === 0 ? undefined : [...policies].join(', '),
        reason: actionReason,
      });
    } catch (error) {
      signal.throwIfAborted();
      return { kind: 'unavailable', message: `the request to the guardrail failed: ${errorName(error)}` };
    }
  }
}

const errorName = (error: unknown): string => (error instanceof Error ? error.name : 'unknown error');
