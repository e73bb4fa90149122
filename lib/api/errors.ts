/**
 * The one catalogue of error codes. A code keeps its meaning for ever; messages may get better. Each says whose trouble
 * it is: the caller's to mend, the key owner's, temporary (the same request may be repeated), or ours.
 */

type ErrorCategory = 'caller' | 'key' | 'temporary' | 'service';

export interface ErrorEntry {
  readonly status: number;
  readonly category: ErrorCategory;
  readonly message: string;
  /** what to do about it */
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
    message: 'An API key stands in the address of the request.',
    recovery:
      'Revoke that key: addresses are written down on their way. Send keys in the header Authorization, and tickets in addresses.',
  },
  ticket_invalid: {
    status: 401,
    category: 'key',
    message: 'The ticket is unknown, used, expired, of another run, or of a key that is no good any more.',
    recovery: 'Ask for another: POST /v1/runs/{runId}/tickets.',
  },
  https_required: {
    status: 400,
    category: 'caller',
    message: 'This API answers over HTTPS only, and nothing proves that the request came that way.',
    recovery: 'Use the https address. A proxy in front of the API must end TLS at the gateway, whose header is the proof.',
  },
  invalid_signature: {
    status: 401,
    category: 'key',
    message: 'The webhook is not signed as its provider signs, or not now.',
    recovery: 'Compare the secret at the provider with the one that is configured here, and the clock of the sender.',
  },
  missing_scope: {
    status: 403,
    category: 'key',
    message: 'The API key does not have the scope that this needs.',
    recovery: 'Use a key that has the scope named in "required", or the scope admin.',
  },
  request_blocked: { status: 403, category: 'caller', message: 'The request was blocked before it reached the service.' },
  rate_limited: {
    status: 429,
    category: 'temporary',
    message: 'The key has used up its requests for this minute.',
    recovery: 'Wait for as many seconds as Retry-After says.',
  },
  invalid_request: {
    status: 400,
    category: 'caller',
    message: 'The request is not what this route takes.',
    recovery: 'See "errors" for each place and what is wrong there.',
  },
  payload_too_large: { status: 413, category: 'caller', message: 'The body is too large.' },
  not_acceptable: {
    status: 406,
    category: 'caller',
    message: 'The answer cannot be given in the form that was asked for.',
    recovery: 'Send "Accept: application/json".',
  },
  not_found: { status: 404, category: 'caller', message: 'There is nothing here by that name.' },
  unknown_provider: {
    status: 404,
    category: 'caller',
    message: 'No provider of webhooks is configured by that name.',
  },
  method_not_allowed: {
    status: 405,
    category: 'caller',
    message: 'This path does not answer that method.',
    recovery: 'The header Allow names the methods it answers.',
  },
  cursor_invalid: {
    status: 400,
    category: 'caller',
    message: 'The cursor is not one that this listing gave, or its filters have changed.',
    recovery: 'Begin again without a cursor.',
  },
  workflow_exists: {
    status: 409,
    category: 'caller',
    message: 'A workflow of that name exists already.',
    recovery: 'Publish a new version of it: POST /v1/workflows/{name}/versions.',
  },
  workflow_not_found: { status: 404, category: 'caller', message: 'There is no workflow of that name.' },
  workflow_archived: {
    status: 409,
    category: 'caller',
    message: 'The workflow is archived: it takes no runs.',
    recovery: 'Publish its next version, and it takes runs again: POST /v1/workflows/{name}/versions.',
  },
  workflow_deleting: {
    status: 409,
    category: 'caller',
    message: 'The workflow is being deleted with its runs: it takes no runs and no versions.',
    recovery: 'Wait until GET /v1/workflows/{name} answers workflow_not_found: then the name is free for a new workflow.',
  },
  workflow_scheduled: {
    status: 409,
    category: 'caller',
    message: 'Schedules start runs of the workflow.',
    recovery: 'Delete those named in "errors", or have them start another workflow, and repeat the request.',
  },
  confirmation_mismatch: {
    status: 400,
    category: 'caller',
    message: 'The confirmation is not the name of the workflow.',
    recovery: 'Send the name that the path names as "confirm".',
  },
  query_exists: {
    status: 409,
    category: 'caller',
    message: 'A query of that name exists already.',
    recovery: 'Publish a new version of it: POST /v1/queries/{name}/versions.',
  },
  query_not_found: { status: 404, category: 'caller', message: 'There is no query of that name.' },
  definition_invalid: {
    status: 400,
    category: 'caller',
    message: 'The definition has errors.',
    recovery: 'See "errors" for every finding and its place.',
  },
  lens_exists: {
    status: 409,
    category: 'caller',
    message: 'A lens of that name exists already.',
    recovery: 'Publish a new version of it: POST /v1/lenses/{name}/versions.',
  },
  lens_not_found: { status: 404, category: 'caller', message: 'There is no lens of that name.' },
  lens_invalid: {
    status: 400,
    category: 'caller',
    message: 'The template or a contract of the lens has errors.',
    recovery: 'See "errors" for every finding and its place.',
  },
  input_invalid: {
    status: 400,
    category: 'caller',
    message: 'The input does not fit the arguments that the workflow declares.',
    recovery: 'See "errors" for each place and what is wrong there.',
  },
  unsupported_spec_version: { status: 400, category: 'caller', message: 'Only specVersion 1 is understood.' },
  idempotency_required: {
    status: 400,
    category: 'caller',
    message: 'Idempotency-Key header is required',
    recovery: 'Send a key of your own, 1 to 255 printable characters, and the same one when you repeat the request.',
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
    message: 'A run with that id exists already.',
    recovery: 'Use another id, or leave it out. A repetition of the request that made the run needs its idempotency key.',
  },
  run_deleted: {
    status: 409,
    category: 'caller',
    message: 'The run that this idempotency key or id stands for was deleted with its workflow.',
    recovery: 'Start another run with a new key, and without that id.',
  },
  run_terminal: { status: 409, category: 'caller', message: 'The run has ended already.' },
  test_run: {
    status: 409,
    category: 'caller',
    message: 'The run is a test run: nothing was published that could be run again.',
    recovery: 'Send its graph to POST /v1/workflows/test again, or publish it and start a run.',
  },
  not_a_test_run: {
    status: 409,
    category: 'caller',
    message: 'Only test runs are stopped with all their traces.',
    recovery: 'Cancel it: POST /v1/runs/{runId}/cancel. Its records are kept until they expire, or its workflow is deleted.',
  },
  takes_no_messages: {
    status: 409,
    category: 'caller',
    message: 'Only a run that a deployment answers for over HTTP takes messages.',
    recovery: 'A graph, and code that is replayed, wait for signals: POST /v1/runs/{runId}/signals.',
  },
  unknown_queue: {
    status: 404,
    category: 'caller',
    message: 'The deployment of the run has no workflow or step of that queue.',
    recovery: 'Use a queue that "errors" names, or deploy code whose manifest lists the workflow or step.',
  },
  no_active_deployment: {
    status: 409,
    category: 'caller',
    message: 'No active deployment. Activate a deployment before triggering runs.',
  },
  invalid_deployment_id: {
    status: 400,
    category: 'caller',
    message: 'deploymentId must match ^[A-Za-z0-9_-]+$ and cannot contain path separators.',
  },
  invalid_manifest: {
    status: 400,
    category: 'caller',
    message: 'The manifest is not one that this takes.',
    recovery: 'See "errors" for each place and what is wrong there.',
  },
  deployment_not_verified: {
    status: 409,
    category: 'caller',
    message: 'The artifact of the deployment has not been verified yet.',
    recovery: 'Upload its artifact, and ask POST /v1/deployments/{deploymentId}/verify.',
  },
  deployment_mismatch: {
    status: 409,
    category: 'caller',
    message: 'The run is on another deployment, and stays there.',
    recovery: 'Leave the deployment out, or name that of the run: GET /v1/runs/{runId}.',
  },
  node_not_reached: {
    status: 409,
    category: 'caller',
    message: 'The results before that node do not lead to it.',
    recovery: 'Go on from a node further up, or run the whole run again.',
  },
  deployment_exists: {
    status: 409,
    category: 'caller',
    message: 'That id was used before: for another manifest, or for a deployment that was removed.',
    recovery: 'Use a new id: an id never means two artifacts, not even after a removal.',
  },
  deployment_active: {
    status: 409,
    category: 'caller',
    message: 'The deployment is active: new runs get it.',
    recovery: 'Activate another one first.',
  },
  deployment_in_use: {
    status: 409,
    category: 'caller',
    message: 'A run that has not ended needs the deployment.',
    recovery: 'Wait for its runs to end, or cancel them.',
  },
  no_previous_deployment: {
    status: 409,
    category: 'caller',
    message: 'No other deployment was active before this one.',
    recovery: 'Name the one to go back to: {"deploymentId": "…"}.',
  },
  artifact_missing: {
    status: 409,
    category: 'caller',
    message: 'The artifact has not been uploaded.',
    recovery: 'Send POST /v1/deployments with the same manifest again: its answer says where to upload the artifact.',
  },
  artifact_digest_mismatch: {
    status: 409,
    category: 'caller',
    message: 'The artifact is not the one that the manifest names: its size or its SHA-256 differs.',
    recovery:
      'Upload the archive that the manifest describes: POST /v1/deployments with the same manifest says where. Another archive needs its own manifest and a new id.',
  },
  artifact_invalid: {
    status: 409,
    category: 'caller',
    message: 'The artifact cannot be unpacked safely, or does not hold the files of the manifest.',
    recovery:
      'See "errors" for what is wrong with which file. Pack it again, and create it with its new manifest under a new id.',
  },
  workflow_name_taken: {
    status: 409,
    category: 'caller',
    message: 'The name means another workflow already.',
    recovery:
      'Use another name. A published workflow gives its name up when it is archived: DELETE /v1/workflows/{name}. A deployment gives its names up when another one is activated.',
  },
  schedule_exists: {
    status: 409,
    category: 'caller',
    message: 'Another schedule has this id.',
    recovery: 'Choose another id, or change the one that is there: POST /v1/schedules/{scheduleId}.',
  },
  foreign_project: {
    status: 403,
    category: 'caller',
    message: 'A key makes keys of its own project and environment only.',
    recovery: 'Use an admin key of that project and environment; the first of another one is made with npm run create-key.',
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
    message: 'The key is revoked, expired or replaced already: it cannot be rotated.',
    recovery: 'Rotate the key that replaced it, or make a new one.',
  },
  internal: {
    status: 500,
    category: 'service',
    message: 'Something went wrong on our side.',
    recovery: 'Report the correlation id.',
  },
  unavailable: {
    status: 503,
    category: 'temporary',
    message: 'The service cannot answer now; what was asked for may or may not have been done.',
    recovery: 'Repeat the same request, with the same idempotency key where there is one, after Retry-After seconds.',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

export const errorCodes = Object.keys(errorCatalogue).filter((code): code is ErrorCode => Object.hasOwn(errorCatalogue, code));

/** One fault of a request. A place in the body is a JSON pointer; others begin with `query/`, `path/` or `header/`. */
export interface ErrorDetail {
  /** of a definition's findings: a warning alone would not have refused it */
  readonly severity?: 'error' | 'warning';
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

/** What a particular refusal adds to its code. */
export interface ErrorResponseFields {
  readonly message?: string;
  /** the scope that is missing */
  readonly required?: string;
  readonly errors?: readonly ErrorDetail[];
}
