/** Models that answer prompts. Which ones there are, and what stands behind each, is configuration. */
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import type { DurationMs } from '../engine/time.ts';

export type MediaType = 'text' | 'json' | 'image' | 'video' | 'audio' | 'pdf';

export interface Attachment {
  readonly kind: 'image' | 'audio' | 'document';
  readonly url: string;
  readonly mimeType?: string;
}

export interface ModelRequest {
  /** the configured name, not the provider's own */
  readonly modelId: string;
  readonly prompt: string;
  readonly params: JsonObject;
  readonly attachments: readonly Attachment[];
}

export interface ModelCall {
  readonly signal: AbortSignal;
  /** the same when the same attempt comes again: a provider that knows it answers once */
  readonly idempotencyToken: string;
  /** told each part of the text as it comes, in order; absent where nobody listens */
  readonly onText?: (text: string) => void;
  readonly secrets: CallSecrets;
}

/** The secrets of one call. Whoever makes the call takes them out of all that comes back. */
export interface CallSecrets {
  /** by the name that the list of the run's project has it under */
  resolve(name: string): Promise<{ readonly text: string } | { readonly failure: Failure }>;
  /** one more that was sent, under a name for those who read what stands in its place */
  addRedaction(name: string, text: string): void;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
}

export type ModelFailureCause = Extract<Failure['cause'], 'timeout' | 'rate_limit' | 'provider_error' | 'invalid' | 'forbidden'>;

/** What a provider says, before anybody has looked at the time. */
export type ProviderResponse =
  | {
      readonly kind: 'completed';
      readonly mediaType: MediaType;
      readonly text?: string;
      /** where the media are; their bytes are never handed on */
      readonly url?: string;
      readonly mimeType?: string;
      readonly bytes?: number;
      readonly data?: JsonValue;
      /** absent where the provider does not say */
      readonly tokens?: Tokens;
      readonly metadata?: JsonObject;
    }
  | {
      readonly kind: 'failed';
      readonly cause: ModelFailureCause;
      readonly code: string;
      readonly message: string;
      /** a wait that the provider asked for */
      readonly retryAfterMs?: DurationMs;
    };

export type ModelResponse =
  | (Extract<ProviderResponse, { kind: 'completed' }> & { readonly durationMs: DurationMs })
  | Extract<ProviderResponse, { kind: 'failed' }>;

export interface Models {
  /** Why the model takes no attachment of one of these kinds. Undefined where it does, and where there is no such model. */
  attachmentError(modelId: string, kinds: readonly Attachment['kind'][]): Promise<string | undefined>;
  /** Whatever goes wrong with the model is an answer. Rejects with the signal's reason when that aborts. */
  execute(request: ModelRequest, call: ModelCall): Promise<ModelResponse>;
}

/** One way to reach a model. Held to the same terms as `Models`, and never asked with an attachment that it refuses. */
export interface ModelProvider {
  attachmentError(kind: Attachment['kind']): string | undefined;
  execute(request: Omit<ModelRequest, 'modelId'>, call: ModelCall): Promise<ProviderResponse>;
}
