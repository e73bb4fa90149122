/** Detects unexpected hits: queue callbacks that reach the application although runs execute elsewhere. */

const callbackPaths = ['/.well-known/workflow/v1/flow', '/.well-known/workflow/v1/step'] as const;

/** Headers that queues send. One is enough. */
export const markerHeaders = [
  'x-vqs-signature',
  'x-vqs-delivery-id',
  'x-workflow-queue-provider',
  'x-workflow-message-id',
  // @workflow/world-local and world-postgres, 4.x and 5.x; bundle runs of this product send the same.
  'x-vqs-queue-name',
  'x-vqs-message-id',
  'x-vqs-message-attempt',
  // @workflow/world-vercel by @vercel/queue 0.3 to 0.5: a CloudEvent in binary mode.
  'ce-vqsqueuename',
  'ce-vqsconsumergroup',
  'ce-vqsmessageid',
] as const;

/** A CloudEvent in structured mode, as older versions of @vercel/queue receive it, has no header but this type. */
const structuredEvent = 'application/cloudevents+json';

/** world-vercel sends CBOR from spec version 3 on. */
const messageTypes = ['application/json', '+json', 'application/cbor'] as const;

/** Most frameworks treat a trailing slash as the same page. */
export const withoutSlash = (path: string): string => (path.length > 1 ? path.replace(/\/$/, '') : path);

/** A callback by method and path: refused in remote mode, from any sender. */
export const isCallback = (method: string, path: string): boolean =>
  method === 'POST' && callbackPaths.some((each) => each === withoutSlash(path));

/** @returns the marker headers of a hit; undefined where it is none. Method, path, type and a marker must all match. */
export const markersOfHit = (method: string, path: string, headers: Headers): readonly string[] | undefined => {
  const contentType = headers.get('content-type')?.toLowerCase() ?? '';
  const isMessage = messageTypes.some((type) => contentType.includes(type));
  const markers = [
    ...markerHeaders.filter((name) => headers.has(name)),
    ...(contentType.includes(structuredEvent) ? ['content-type'] : []),
  ];
  return isCallback(method, path) && isMessage && markers.length > 0 ? markers : undefined;
};

/** Informative only. */
export const isMessageShaped = (body: unknown): boolean =>
  typeof body === 'object' &&
  body !== null &&
  (('runId' in body && typeof body.runId === 'string') || ('workflowRunId' in body && typeof body.workflowRunId === 'string'));
