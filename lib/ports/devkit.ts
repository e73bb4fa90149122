/** What runs of the Workflow DevKit have beside their logs: tokens of hooks, streams, and the registered addresses of applications. */
import type { CommitNo, DeploymentId, Nonce, RunAddress, RunId, Scope } from '../engine/ids.ts';
import type { JsonValue, Payload } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { WebhookRequest, WebhookResponse } from './bundles.ts';

/** A hook's claim of its token. It precedes the hook's event: only the log of the run tells whether the hook exists. */
export interface TokenClaim {
  readonly runId: RunId;
  readonly hookId: string;
  readonly nonce: Nonce;
  /** the only commit of the run that may contain the event */
  readonly commitNo: CommitNo;
}

/** Every read is strongly consistent. */
export interface HookTokens {
  /** Claims the token if it is free. @returns the claim in force */
  claim(scope: Scope, token: string, claim: TokenClaim, expiresAt: Instant): Promise<TokenClaim>;
  /** Replaces the claim, if it is still in force. */
  replace(scope: Scope, token: string, from: TokenClaim, to: TokenClaim, expiresAt: Instant): Promise<boolean>;
  /** Frees the token if a hook of this run claims it. */
  releaseOf(run: RunAddress, token: string, hookId: string): Promise<void>;
  find(scope: Scope, token: string): Promise<TokenClaim | undefined>;
  /** Records which run has the hook. A later run with the same id of a hook replaces it. */
  nameHook(run: RunAddress, hookId: string, expiresAt: Instant): Promise<void>;
  runOfHook(scope: Scope, hookId: string): Promise<RunId | undefined>;
}

/** A stream of a run, or one without a run. */
export interface StreamName extends Scope {
  readonly runId?: RunId;
  readonly name: string;
}

/** Chunks that were written together. */
export interface StreamFlush {
  /** the index of its first chunk */
  readonly first: number;
  readonly count: number;
  /** a list of the chunks, with tags for bytes */
  readonly chunks: Payload;
  /** nothing follows */
  readonly isLast?: true;
}

/** Every read is strongly consistent. */
export interface DevKitStreams {
  /** Writes the flush if no other one has its first index. */
  append(stream: StreamName, flush: StreamFlush, expiresAt: Instant): Promise<boolean>;
  /** The flush that contains the chunk, and those after it, at most `limit`. */
  flushes(stream: StreamName, from: number, limit: number): Promise<readonly StreamFlush[]>;
  /** undefined: nothing was written */
  last(stream: StreamName): Promise<StreamFlush | undefined>;
  /** Records that the run has the stream. */
  nameStream(run: RunAddress, name: string, expiresAt: Instant): Promise<void>;
  namesOf(run: RunAddress): Promise<readonly string[]>;
  runOf(scope: Scope, name: string): Promise<RunId | undefined>;
}

/** An application that receives the messages of its runs at its own address. It stands in the place of a deployment. */
export interface RegisteredApp {
  readonly deploymentId: DeploymentId;
  /** without a slash at the end */
  readonly baseUrl: string;
  /** signs deliveries */
  readonly secret: string;
  readonly registeredAt: Instant;
  readonly app?: string;
  readonly sdk?: string;
  readonly specVersion?: number;
  /** in the names of the queues whose messages it takes */
  readonly queueNamespace?: string;
}

export interface RegisteredApps {
  /** Registers the application, or registers it again. @returns the stored one, with the secret of the first registration */
  register(scope: Scope, app: RegisteredApp, expiresAt: Instant): Promise<RegisteredApp>;
  app(scope: Scope, id: DeploymentId): Promise<RegisteredApp | undefined>;
}

export interface DevKitPorts {
  readonly hookTokens: HookTokens;
  readonly devKitStreams: DevKitStreams;
  readonly registeredApps: RegisteredApps;
}

/** A message on its way to an application. */
export interface AppRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type AppResponse =
  /** `body` is undefined if it is not JSON */
  | { readonly kind: 'responded'; readonly status: number; readonly body: JsonValue | undefined }
  /** the address is not allowed, or the application did not answer */
  | { readonly kind: 'failed'; readonly reason: string };

/** Sends requests to applications, behind the guard of all outgoing requests. */
export interface AppCalls {
  /** Sends a request for a webhook with its own method and body, and returns the bytes of the response. */
  forward(
    request: WebhookRequest,
    limits: { readonly endsAt: Instant },
  ): Promise<
    { readonly kind: 'answered'; readonly response: WebhookResponse } | Extract<AppResponse, { readonly kind: 'failed' }>
  >;
  post(request: AppRequest, limits: { readonly endsAt: Instant }): Promise<AppResponse>;
}

/** A request for the webhook of a token, for the code that executes the run of the webhook. */
export interface WebhookCall {
  readonly scope: Scope;
  readonly deploymentId: DeploymentId;
  readonly token: string;
  readonly request: WebhookRequest;
}

export type WebhookAnswer =
  | { readonly kind: 'answered'; readonly response: WebhookResponse }
  | { readonly kind: 'no_hook' }
  | { readonly kind: 'failed'; readonly reason: string };

/** Passes requests for webhooks to the process that runs deployed code. */
export interface WebhookCalls {
  /** @throws Unavailable */
  resume(call: WebhookCall): Promise<WebhookAnswer>;
}
