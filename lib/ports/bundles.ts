/** Runs the code of a deployment: delivers a message to the bundle that handles its queue, and returns the response. */
import type { Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { Manifest } from './deployments.ts';

/** A message as a bundle receives it: one HTTP request. */
export interface BundleRequest {
  readonly queueName: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonValue;
}

export type BundleResult =
  /** `body` is undefined if the response was not JSON */
  | { readonly kind: 'responded'; readonly status: number; readonly body: JsonValue | undefined }
  /** the code threw, exited or crashed its thread */
  | { readonly kind: 'crashed'; readonly message: string }
  | { readonly kind: 'timed_out' }
  /** the artifact is deleted or does not match its manifest, or its bundle is missing or cannot be imported */
  | { readonly kind: 'unloadable'; readonly message: string };

/** Body of the response to a request for a webhook. */
export const maxWebhookResponseBytes = 1_048_576;

/** A request to a webhook of an app of the Workflow DevKit, and the response of its workflow. Bodies are the exact bytes. */
export interface WebhookRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface WebhookResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export type WebhookResult =
  | { readonly kind: 'answered'; readonly response: WebhookResponse }
  /** no live webhook has the token */
  | { readonly kind: 'no_hook' }
  | Exclude<BundleResult, { readonly kind: 'responded' }>;

export interface Bundles {
  /** Never throws for an error of the code. At `endsAt`, or when the signal aborts, the thread of the code is killed. */
  deliver(
    scope: Scope,
    manifest: Manifest,
    request: BundleRequest,
    limits: { readonly endsAt: Instant; readonly signal: AbortSignal },
  ): Promise<BundleResult>;
  /** Resumes the webhook with the token by the SDK of the deployment. It never throws for an error of the code. */
  resumeWebhook(
    scope: Scope,
    manifest: Manifest,
    webhook: { readonly token: string; readonly request: WebhookRequest },
    limits: { readonly endsAt: Instant; readonly signal: AbortSignal },
  ): Promise<WebhookResult>;
}

/** The folder of the bundles. */
const bundleFolder = '.well-known/workflow/v1';

/** The paths of an artifact's bundles, by the kind of message that they handle. */
export const bundlePaths = {
  workflow: `${bundleFolder}/flow.js`,
  step: `${bundleFolder}/step.js`,
} as const;

/**
 * Those of the Workflow DevKit. Version 4 has CommonJS bundles for workflows and steps. Version 5 has one ES module, and its steps are
 * messages to workflows.
 */
export const devKitBundlePaths = {
  commonjs: bundlePaths,
  module: { workflow: `${bundleFolder}/flow.mjs` },
} as const;
export const devKitFolder = bundleFolder;
/** The SDK's functions for callers outside of a workflow. The command line bundles it, because the SDK's builder does not. */
export const devKitHostPath = `${bundleFolder}/host.mjs`;
