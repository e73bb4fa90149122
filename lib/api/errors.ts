/**
 * The catalogue of error codes. The meaning of a code never changes; messages may improve. The category says who can fix the
 * error: the caller, the owner of the key, or the service. A temporary error passes: repeat the request.
 */
import { defined } from '../base/defined.ts';

type ErrorCategory = 'caller' | 'key' | 'temporary' | 'service';

export interface ErrorEntry {
  readonly status: number;
  readonly category: ErrorCategory;
  readonly message: string;
  /** what the caller can do */
  readonly recovery?: string;
}

export const errorCatalogue = {
  unauthorized: {
    status: 401,
    category: 'key',
    message: 'The API key is missing, unknown, expired or revoked.',
    recovery: 'Send a valid key: "Authorization: Bearer sw_…".',
  },
  key_in_query: {
    status: 400,
    category: 'key',
    message: 'The address of the request contains an API key.',
    recovery:
      'Revoke that key, because addresses are logged. Send keys in the header Authorization, and only tickets in addresses.',
  },
  ticket_invalid: {
    status: 401,
    category: 'key',
    message: 'The ticket is unknown, used, expired, for another run, or its key is no longer valid.',
    recovery: 'Create a new ticket: POST /v1/runs/{runId}/tickets.',
  },
  session_invalid: {
    status: 401,
    category: 'key',
    message: 'The session is unknown, signed out or expired, was idle for an hour, or its key is no longer valid.',
    recovery: 'Sign in again: npx stepwell open.',
  },
  link_invalid: {
    status: 401,
    category: 'key',
    message: 'The link is unknown, used or older than a minute, or its key is no longer valid.',
    recovery: 'Create a new link: npx stepwell open, or POST /v1/sessions/links.',
  },
  too_many_embeds: {
    status: 409,
    category: 'caller',
    message: 'The project and environment have 100 embeds.',
    recovery: 'Revoke one: DELETE /v1/embeds/{embedId}.',
  },
  sign_in_refused: {
    status: 401,
    category: 'key',
    message: 'The answer of the identity provider was not accepted.',
    recovery: 'Sign in again. The audit trail has the reason.',
  },
  not_granted: {
    status: 403,
    category: 'key',
    message: 'The identity provider knows you, and no grant of this installation applies to you.',
    recovery: 'Ask the owner of the installation: the setting console says which claims grant which scopes.',
  },
  cross_origin: {
    status: 403,
    category: 'caller',
    message: 'The request uses a session or signs in or out, and does not provably come from a page of this API.',
    recovery:
      'Programs send a key in the header Authorization. The pages of the console send Sec-Fetch-Site: same-origin, or their own Origin.',
  },
  https_required: {
    status: 400,
    category: 'caller',
    message: 'This API requires HTTPS, and the request has no proof that it used HTTPS.',
    recovery:
      'Use the https address. A proxy in front of the API must connect to the gateway over TLS; the header of the gateway is the proof.',
  },
  invalid_signature: {
    status: 401,
    category: 'key',
    message: 'The signature of the webhook is invalid, or its timestamp is too old.',
    recovery: 'Compare the secret of the provider with the configured one, and check the clock of the sender.',
  },
  missing_scope: {
    status: 403,
    category: 'key',
    message: 'The API key lacks the required scope.',
    recovery: 'Use a key that has the scope named in "required", or the scope admin.',
  },
  request_blocked: { status: 403, category: 'caller', message: 'The request was blocked before it reached the service.' },
  rate_limited: {
    status: 429,
    category: 'temporary',
    message: 'The key has reached its rate limit for this minute.',
    recovery: 'Wait for the number of seconds in Retry-After.',
  },
  invalid_request: {
    status: 400,
    category: 'caller',
    message: 'The request is invalid for this route.',
    recovery: 'See "errors" for each error and its pointer.',
  },
  payload_too_large: { status: 413, category: 'caller', message: 'The body is too large.' },
  not_acceptable: {
    status: 406,
    category: 'caller',
    message: 'The requested response format is not available.',
    recovery: 'Send "Accept: application/json".',
  },
  not_found: { status: 404, category: 'caller', message: 'The resource does not exist.' },
  unknown_provider: {
    status: 404,
    category: 'caller',
    message: 'No webhook provider with that name is configured.',
  },
  method_not_allowed: {
    status: 405,
    category: 'caller',
    message: 'This path does not support that method.',
    recovery: 'The header Allow lists the supported methods.',
  },
  cursor_invalid: {
    status: 400,
    category: 'caller',
    message: 'The cursor is not from this listing, or the filters have changed.',
    recovery: 'Start again without a cursor.',
  },
  workflow_exists: {
    status: 409,
    category: 'caller',
    message: 'A workflow with that name exists already.',
    recovery: 'Publish a new version of it: POST /v1/workflows/{name}/versions.',
  },
  version_conflict: {
    status: 409,
    category: 'caller',
    message: 'Another version is the newest one, so the definition is not based on it.',
    recovery: 'Compare with the newest version, which "current" names, and publish with it as "basedOn".',
  },
  draft_not_found: { status: 404, category: 'caller', message: 'No workflow of that name has a draft.' },
  draft_conflict: {
    status: 409,
    category: 'caller',
    message: 'The draft has another revision: another author or page has saved or deleted it.',
    recovery: 'Read the draft, add your changes to it and save it with its revision: GET /v1/workflows/{name}/draft.',
  },
  workflow_not_found: { status: 404, category: 'caller', message: 'No workflow has that name.' },
  workflow_archived: {
    status: 409,
    category: 'caller',
    message: 'The workflow is archived and accepts no runs.',
    recovery: 'Publish its next version to accept runs again: POST /v1/workflows/{name}/versions.',
  },
  workflow_deleting: {
    status: 409,
    category: 'caller',
    message: 'The workflow is being deleted with its runs and accepts no runs or versions.',
    recovery: 'Wait until GET /v1/workflows/{name} returns workflow_not_found. Then the name is free for a new workflow.',
  },
  workflow_scheduled: {
    status: 409,
    category: 'caller',
    message: 'Schedules start runs of the workflow.',
    recovery: 'Delete the schedules named in "errors", or change their workflow, and repeat the request.',
  },
  confirmation_mismatch: {
    status: 400,
    category: 'caller',
    message: 'The confirmation is not the name of the workflow.',
    recovery: 'Send the workflow name of the path as "confirm".',
  },
  query_exists: {
    status: 409,
    category: 'caller',
    message: 'A query with that name exists already.',
    recovery: 'Publish a new version of it: POST /v1/queries/{name}/versions.',
  },
  query_not_found: { status: 404, category: 'caller', message: 'No query has that name.' },
  definition_invalid: {
    status: 400,
    category: 'caller',
    message: 'The definition has errors.',
    recovery: 'See "errors" for every finding and its pointer.',
  },
  lens_exists: {
    status: 409,
    category: 'caller',
    message: 'A lens with that name exists already.',
    recovery: 'Publish a new version of it: POST /v1/lenses/{name}/versions.',
  },
  lens_not_found: { status: 404, category: 'caller', message: 'No lens has that name.' },
  lens_invalid: {
    status: 400,
    category: 'caller',
    message: 'The template or a contract of the lens has errors.',
    recovery: 'See "errors" for every finding and its pointer.',
  },
  input_invalid: {
    status: 400,
    category: 'caller',
    message: 'The input does not match the arguments that the workflow declares.',
    recovery: 'See "errors" for each error and its pointer.',
  },
  unsupported_spec_version: { status: 400, category: 'caller', message: 'Only specVersion 1 is supported.' },
  idempotency_required: {
    status: 400,
    category: 'caller',
    message: 'Idempotency-Key header is required',
    recovery: 'Send a key of 1 to 255 printable characters, and the same key when you repeat the request.',
  },
  idempotency_conflict: {
    status: 409,
    category: 'caller',
    message: 'The idempotency key was used with another body.',
    recovery: 'Use a new key for a new request.',
  },
  run_exists: {
    status: 409,
    category: 'caller',
    message: 'A run with this id exists already.',
    recovery: 'Use another id or omit it. To repeat the request that created the run, send its idempotency key.',
  },
  run_deleted: {
    status: 409,
    category: 'caller',
    message: 'The run with this idempotency key or id was deleted with its workflow.',
    recovery: 'Start a run with a new key and without that id.',
  },
  run_terminal: { status: 409, category: 'caller', message: 'The run has ended already.' },
  test_run: {
    status: 409,
    category: 'caller',
    message: 'The run is a test run: its unpublished graph cannot be rerun.',
    recovery: 'Send the graph to POST /v1/workflows/test again, or publish it and start a run.',
  },
  external_run: {
    status: 409,
    category: 'caller',
    message: 'A worker of the package openworkflow executes the run, and this request does not apply to it.',
    recovery: 'Use the library in its program, which runs it again, cancels it and sends signals: docs/OPENWORKFLOW.md.',
  },
  not_a_test_run: {
    status: 409,
    category: 'caller',
    message: 'Only test runs can be stopped and deleted.',
    recovery: 'Cancel the run: POST /v1/runs/{runId}/cancel. Its records expire, or are deleted with its workflow.',
  },
  takes_no_messages: {
    status: 409,
    category: 'caller',
    message: 'Only a run of an HTTP bundle accepts messages.',
    recovery: 'Graph runs and code runs wait for signals: POST /v1/runs/{runId}/signals.',
  },
  unknown_queue: {
    status: 404,
    category: 'caller',
    message: 'The deployment of the run has no workflow or step for that queue.',
    recovery: 'Use a queue named in "errors", or deploy code whose manifest lists the workflow or step.',
  },
  no_active_deployment: {
    status: 409,
    category: 'caller',
    message: 'No active deployment. Activate a deployment before triggering runs.',
    recovery: 'Deploy the app with stepwell deploy, or activate a deployment: POST /v1/deployments/{deploymentId}/activate.',
  },
  invalid_deployment_id: {
    status: 400,
    category: 'caller',
    message: 'deploymentId must match ^[A-Za-z0-9_-]+$ and cannot contain path separators.',
  },
  invalid_manifest: {
    status: 400,
    category: 'caller',
    message: 'The manifest is invalid.',
    recovery: 'See "errors" for each error and its pointer.',
  },
  deployment_not_verified: {
    status: 409,
    category: 'caller',
    message: 'The artifact of the deployment has not been verified yet.',
    recovery: 'Upload the artifact, then call POST /v1/deployments/{deploymentId}/verify.',
  },
  deployment_mismatch: {
    status: 409,
    category: 'caller',
    message: 'The run belongs to another deployment.',
    recovery: 'Omit the deployment, or use the deployment of the run: GET /v1/runs/{runId}.',
  },
  node_not_reached: {
    status: 409,
    category: 'caller',
    message: 'The earlier results of the run do not reach that node.',
    recovery: 'Rerun from an earlier node, or rerun the whole run.',
  },
  run_open: {
    status: 409,
    category: 'caller',
    message: 'The run has not ended: its steps can still change.',
    recovery: 'Cancel the run or wait for its end, then rerun it from the step.',
  },
  step_rolled_back: {
    status: 409,
    category: 'caller',
    message: 'The run rolled back a step that the rerun would keep.',
    recovery: 'Rerun from that step, or give the result that holds now in "results".',
  },
  rerun_too_large: {
    status: 409,
    category: 'caller',
    message: 'The rerun would copy too many large results.',
    recovery: 'Rerun from an earlier step, or rerun the whole run.',
  },
  deployment_exists: {
    status: 409,
    category: 'caller',
    message: 'That id is used by another manifest or by a removed deployment.',
    recovery: 'Use a new id. An id is never used for two artifacts, even after a removal.',
  },
  deployment_active: {
    status: 409,
    category: 'caller',
    message: 'The deployment is active: new runs start on it.',
    recovery: 'Activate another one of its app first, or deactivate it: POST /v1/deployments/{deploymentId}/deactivate.',
  },
  app_required: {
    status: 409,
    category: 'caller',
    message: 'Several apps have an active deployment, and the request names none.',
    recovery: 'Name the app: GET /v1/apps lists them.',
  },
  workflows_in_use: {
    status: 409,
    category: 'caller',
    message: 'The change would remove workflows that open runs or schedules use.',
    recovery:
      'Open runs would end on their own deployment, and the schedules would start nothing. To do it all the same, send {"allowRemoval": true}.',
  },
  too_many_apps: {
    status: 409,
    category: 'caller',
    message: 'The environment has no room for the workflows of another app.',
    recovery: 'Deactivate an app that is no longer used: POST /v1/deployments/{deploymentId}/deactivate.',
  },
  deployment_in_use: {
    status: 409,
    category: 'caller',
    message: 'Open runs use the deployment.',
    recovery: 'Wait until its runs end, or cancel them.',
  },
  no_previous_deployment: {
    status: 409,
    category: 'caller',
    message: 'No deployment was active before this one.',
    recovery: 'Name the deployment to activate: {"deploymentId": "…"}.',
  },
  artifact_missing: {
    status: 409,
    category: 'caller',
    message: 'The artifact has not been uploaded.',
    recovery: 'Send POST /v1/deployments with the same manifest again: the response contains the upload address.',
  },
  artifact_digest_mismatch: {
    status: 409,
    category: 'caller',
    message: 'The artifact does not match the manifest: its size or its SHA-256 differs.',
    recovery:
      'Upload the archive of the manifest: POST /v1/deployments with the same manifest returns the upload address. Another archive needs its own manifest and a new id.',
  },
  artifact_invalid: {
    status: 409,
    category: 'caller',
    message: 'The artifact cannot be unpacked safely, or its files do not match the manifest.',
    recovery: 'See "errors" for each file. Pack the artifact again, and create a deployment with the new manifest and a new id.',
  },
  workflow_name_taken: {
    status: 409,
    category: 'caller',
    message: 'Another workflow uses that name.',
    recovery:
      'Use another name. Archiving a published workflow frees its name: DELETE /v1/workflows/{name}. Activating another deployment frees the names of this one.',
  },
  schedule_exists: {
    status: 409,
    category: 'caller',
    message: 'Another schedule has this id.',
    recovery: 'Choose another id, or update the existing schedule: POST /v1/schedules/{scheduleId}.',
  },
  foreign_project: {
    status: 403,
    category: 'caller',
    message: 'A key can create keys only for its own project and environment.',
    recovery: 'Use an admin key of that project and environment. Create the first key of another one with npm run create-key.',
  },
  key_in_use: {
    status: 409,
    category: 'caller',
    message: 'A key cannot revoke itself.',
    recovery: 'Revoke it with another admin key, or rotate it.',
  },
  key_retired: {
    status: 409,
    category: 'caller',
    message: 'The key is revoked, expired or replaced, so it cannot be rotated.',
    recovery: 'Rotate the replacement key, or create a new key.',
  },
  key_without_secret: {
    status: 409,
    category: 'caller',
    message: 'The key has no secret: people of an identity provider have its rights. It cannot be rotated.',
    recovery:
      'To end their sessions, revoke it, and deploy the grant with another keyId in the setting console. For a program, create a key.',
  },
  internal: {
    status: 500,
    category: 'service',
    message: 'The service had an internal error.',
    recovery: 'Report the correlation id.',
  },
  entity_conflict: {
    status: 409,
    category: 'caller',
    message: 'The run, step, hook or wait is not in the state that the event requires.',
    recovery: 'Read the entity: another request has changed it already.',
  },
  run_expired: { status: 410, category: 'caller', message: 'The run has ended.' },
  too_early: {
    status: 425,
    category: 'temporary',
    message: 'The step may not start yet.',
    recovery: 'Repeat the request after the number of seconds in "retryAfter".',
  },
  run_not_found: { status: 404, category: 'caller', message: 'The run does not exist.' },
  hook_not_found: { status: 404, category: 'caller', message: 'The hook does not exist, is disposed, or ended with its run.' },
  step_not_found: { status: 404, category: 'caller', message: 'The step does not exist.' },
  wait_not_found: { status: 404, category: 'caller', message: 'The wait does not exist.' },
  event_not_found: { status: 404, category: 'caller', message: 'The event does not exist.' },
  upload_not_found: {
    status: 409,
    category: 'caller',
    message: 'The value has not been uploaded for this run, or its upload has expired.',
    recovery: 'Upload the value to the address that POST /v1/world/uploads returns, then repeat the request.',
  },
  run_not_supported: {
    status: 422,
    category: 'caller',
    message: 'The run has a spec version that this version of Stepwell does not store.',
    recovery: 'Update Stepwell, or start the run with an earlier version of the Workflow DevKit.',
  },
  event_not_supported: { status: 422, category: 'caller', message: 'Runs of this spec version have no events of this type.' },
  attributes_invalid: { status: 422, category: 'caller', message: 'The attributes exceed a limit, or have a reserved name.' },
  event_limit: {
    status: 422,
    category: 'caller',
    message: 'The run has the maximum number of events.',
    recovery: 'Call another workflow from the run, so that each has fewer events.',
  },
  world_deployment_not_found: {
    status: 404,
    category: 'caller',
    message: 'No deployment and no application is registered under this id.',
    recovery: 'Deploy the application, or register its address: POST /v1/world/apps.',
  },
  unavailable: {
    status: 503,
    category: 'temporary',
    message: 'The service is unavailable. The request may or may not have been processed.',
    recovery: 'Repeat the same request after Retry-After seconds, with the same idempotency key if it had one.',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

export const errorCodes = Object.keys(errorCatalogue).filter((code): code is ErrorCode => Object.hasOwn(errorCatalogue, code));

/** One error of a request. `pointer` is a JSON pointer into the body, or begins with `query/`, `path/` or `header/`. */
export interface ErrorDetail {
  /** only for findings of a definition; a definition with warnings only is accepted */
  readonly severity?: 'error' | 'warning';
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

/** What an error response adds to the entry of its code. */
export interface ErrorResponseFields {
  readonly message?: string;
  /** the missing scope */
  readonly required?: string;
  readonly errors?: readonly ErrorDetail[];
  /** seconds after which the request may succeed */
  readonly retryAfter?: number;
  readonly current?: CurrentState;
}

/** What a change conflicts with: the stored draft or the newest version. */
export interface CurrentState {
  /** of the draft; 0: there is none */
  readonly revision?: number;
  /** the newest version; null: the workflow has none */
  readonly version?: number | null;
  /** when it was saved or published */
  readonly at?: string;
  /** who saved or published it, if that was recorded */
  readonly by?: string;
}

export interface ErrorEnvelope {
  readonly code: ErrorCode;
  readonly message: string;
  readonly required?: string;
  readonly recovery?: string;
  readonly correlationId: string;
  readonly errors?: readonly ErrorDetail[];
  readonly retryAfter?: number;
  readonly current?: CurrentState;
}

/** Maximum number of error details, so that a response stays small. */
export const maxErrorDetails = 100;

/** Builds the body of an error response. */
export const createErrorEnvelope = (code: ErrorCode, correlationId: string, details: ErrorResponseFields = {}): ErrorEnvelope => {
  const entry: ErrorEntry = errorCatalogue[code];
  return defined({
    code,
    message: details.message ?? entry.message,
    required: details.required,
    recovery: entry.recovery,
    correlationId,
    errors: details.errors === undefined ? undefined : details.errors.slice(0, maxErrorDetails),
    retryAfter: details.retryAfter,
    current: details.current,
  });
};
