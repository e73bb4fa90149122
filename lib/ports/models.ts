/** Models that respond to prompts. The configuration defines the models and their providers. */
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import type { DurationMs } from '../engine/time.ts';

/** Limit of the text of a response in characters, and of a JSON body in bytes. */
export const maxResponseLength = 4_194_304;

export type MediaType = 'text' | 'json' | 'image' | 'video' | 'audio' | 'pdf';

export interface Attachment {
  readonly kind: 'image' | 'audio' | 'document';
  readonly url: string;
  readonly mimeType?: string;
}

export interface ModelRequest {
  /** the configured name, not the provider's model id */
  readonly modelId: string;
  readonly prompt: string;
  readonly params: JsonObject;
  readonly attachments: readonly Attachment[];
}

export interface ModelCall {
  readonly signal: AbortSignal;
  /** stable for an attempt, so that a provider with idempotency executes the call once */
  readonly idempotencyToken: string;
  /** receives each part of the text, in order; absent if nothing streams it */
  readonly onText?: (text: string) => void;
  readonly secrets: CallSecrets;
}

/** The secrets of one call. The caller redacts them in everything that the provider returns. */
export interface CallSecrets {
  /** Reads a secret by its name in the configuration of the run's project. */
  resolve(name: string): Promise<{ readonly text: string } | { readonly failure: Failure }>;
  /** Adds another sent value to redact. `name` appears in its place. */
  addRedaction(name: string, text: string): void;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
}

export type ModelFailureCause = Extract<Failure['cause'], 'timeout' | 'rate_limit' | 'provider_error' | 'invalid' | 'forbidden'>;

/** A provider's response, without its duration. */
export type ProviderResponse =
  | {
      readonly kind: 'completed';
      readonly mediaType: MediaType;
      readonly text?: string;
      /** the address of the media; their bytes are not passed on */
      readonly url?: string;
      readonly mimeType?: string;
      readonly bytes?: number;
      readonly data?: JsonValue;
      /** absent if the provider does not report them */
      readonly tokens?: Tokens;
      readonly metadata?: JsonObject;
    }
  | {
      readonly kind: 'failed';
      readonly cause: ModelFailureCause;
      readonly code: string;
      readonly message: string;
      /** the wait that the provider requested */
      readonly retryAfterMs?: DurationMs;
    };

export type ModelResponse =
  | (Extract<ProviderResponse, { kind: 'completed' }> & { readonly durationMs: DurationMs })
  | Extract<ProviderResponse, { kind: 'failed' }>;

export interface Models {
  /** Why the model does not accept attachments of these kinds. Undefined if it accepts them or does not exist. */
  attachmentError(modelId: string, kinds: readonly Attachment['kind'][]): Promise<string | undefined>;
  /** Errors of the model are results. Rejects only with the abort reason of the signal. */
  execute(request: ModelRequest, call: ModelCall): Promise<ModelResponse>;
}

/** A client of one provider's API. It has the contract of `Models` and never receives an attachment that it refuses. */
export interface ModelProvider {
  attachmentError(kind: Attachment['kind']): string | undefined;
  execute(request: Omit<ModelRequest, 'modelId'>, call: ModelCall): Promise<ProviderResponse>;
}
