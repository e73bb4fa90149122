/** What counts as an unexpected hit: a queue's callback that reached the application although runs are carried out elsewhere. */

const callbackPaths = ['/.well-known/workflow/v1/flow', '/.well-known/workflow/v1/step'] as const;

/** Headers that queues write. One is enough. */
export const markerHeaders = [
  'x-vqs-signature',
  'x-vqs-delivery-id',
  'x-workflow-queue-provider',
  'x-workflow-message-id',
] as const;

/** The same page with a slash at its end is the same page to most frameworks. */
export const withoutSlash = (path: string): string => (path.length > 1 ? path.replace(/\/$/, '') : path);

/** A callback by method and path: refused in remote mode, whoever sends it. */
export const isCallback = (method: string, path: string): boolean =>
  method === 'POST' && callbackPaths.some((each) => each === withoutSlash(path));

/** @returns the marker headers of a hit; undefined where it is none. All four parts must hold: method, path, type, a marker. */
export const markersOfHit = (method: string, path: string, headers: Headers): readonly string[] | undefined => {
  const contentType = headers.get('content-type')?.toLowerCase() ?? '';
  const isJson = contentType.includes('application/json') || contentType.includes('+json');
  const markers = markerHeaders.filter((name) => headers.has(name));
  return isCallback(method, path) && isJson && markers.length > 0 ? markers : undefined;
};

/** Informative only. */
export const isMessageShaped = (body: unknown): boolean =>
  typeof body === 'object' &&
  body !== null &&
  (('runId' in body && typeof body.runId === 'string') || ('workflowRunId' in body && typeof body.workflowRunId === 'string'));
