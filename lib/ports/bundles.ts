/** Runs the code of a deployment: hands a message to the bundle that takes it, and says what it answered. */
import type { Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { Manifest } from './deployments.ts';

/** A message as a bundle gets it: one HTTP request. */
export interface BundleRequest {
  readonly queueName: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonValue;
}

export type BundleResult =
  /** `body` is undefined where it was no JSON */
  | { readonly kind: 'responded'; readonly status: number; readonly body: JsonValue | undefined }
  /** the code threw, exited or broke its thread */
  | { readonly kind: 'crashed'; readonly message: string }
  | { readonly kind: 'timed_out' }
  /** the artifact is gone, is not what its manifest says, has no such bundle, or its bundle cannot be imported */
  | { readonly kind: 'unloadable'; readonly message: string };

export interface Bundles {
  /** Never throws for what the code did. The signal, or the end of time, kills the thread the code runs on. */
  deliver(
    scope: Scope,
    manifest: Manifest,
    request: BundleRequest,
    limits: { readonly endsAt: Instant; readonly signal: AbortSignal },
  ): Promise<BundleResult>;
}

/** The bundles of an artifact, by the queues whose messages they take. */
export const bundlePaths = {
  workflow: '.well-known/workflow/v1/flow.js',
  step: '.well-known/workflow/v1/step.js',
} as const;
