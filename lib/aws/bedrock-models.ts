/** Models of Bedrock by its Converse API, streaming. The one file that loads that client: whoever needs it imports it then. */
import {
  type BedrockRuntimeClient,
  ConverseStreamCommand,
  type ConverseStreamCommandInput,
  type ConverseStreamOutput,
} from '@aws-sdk/client-bedrock-runtime';
import * as z from 'zod';
import type { JsonObject } from '../engine/json.ts';
import type {
  Attachment,
  ModelCall,
  ModelFailureCause,
  ModelProvider,
  ModelRequest,
  ProviderResponse,
  Tokens,
} from '../ports/models.ts';

type Failed = Extract<ProviderResponse, { kind: 'failed' }>;

const inference = z.object({
  maxTokens: z.int().min(1).exactOptional(),
  temperature: z.number().exactOptional(),
  topP: z.number().exactOptional(),
  stopSequences: z.array(z.string()).exactOptional(),
});
/** In characters. */
const maxResponseLength = 4_194_304;

export class BedrockModel implements ModelProvider {
  readonly #client: BedrockRuntimeClient;
  readonly #modelId: string;

  constructor(client: BedrockRuntimeClient, modelId: string) {
    this.#client = client;
    this.#modelId = modelId;
  }

  /** Converse takes bytes, and no address that is not in S3. */
  attachmentError(kind: Attachment['kind']): string {
    return `a ${kind} cannot be handed to Bedrock by its address`;
  }

  async execute(request: Omit<ModelRequest, 'modelId'>, call: ModelCall): Promise<ProviderResponse> {
    const input = inputOf(this.#modelId, request, call);
    if ('kind' in input) return input;
    try {
      const { stream } = await this.#client.send(new ConverseStreamCommand(input), { abortSignal: call.signal });
      return stream === undefined
        ? failed('provider_error', 'provider_answer_invalid', 'no stream came')
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
    ...(others.length === 0 ? {} : { additionalModelRequestFields: plain(Object.fromEntries(others)) }),
    // Converse has no idempotency: the attempt is at least named in the account's invocation log.
    requestMetadata: { attempt: call.idempotencyToken.replaceAll(/[^a-zA-Z0-9\s:_@$#=/+,.-]/g, '-').slice(-256) },
  };
  return input;
}

/** The same JSON, as the SDK's types want it: mutable. */
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
      return failed('invalid', 'answer_too_large', `the answer is longer than ${maxResponseLength} characters`);
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
  // A call that was hung up on ends its stream quietly.
  signal.throwIfAborted();
  if (stopReason === undefined) return failed('provider_error', 'stream_broken', 'the stream ended in the middle of the answer');
  return {
    kind: 'completed',
    mediaType: 'text',
    text,
    ...(tokens === undefined ? {} : { tokens }),
    metadata: { finishReason: stopReason },
  };
}

const failed = (cause: ModelFailureCause, code: string, message: string): Failed => ({ kind: 'failed', cause, code, message });

const rateLimits = new Set(['ThrottlingException', 'TooManyRequestsException', 'ServiceQuotaExceededException']);
/** The same request would be refused again. */
const refusals = new Set(['ValidationException', 'AccessDeniedException', 'ResourceNotFoundException']);

function failureOf(error: unknown): Failed {
  if (!(error instanceof Error)) return failed('provider_error', 'provider_error', String(error));
  const message = `Bedrock: ${error.message === '' ? error.name : error.message}`.slice(0, 600);
  if (rateLimits.has(error.name)) return failed('rate_limit', 'provider_rate_limit', message);
  return refusals.has(error.name)
    ? failed('invalid', 'provider_refused', message)
    : failed('provider_error', 'provider_error', message);
}
