/**
 * S3: finds the bucket and object of a request. Checks conditional puts itself, because the emulator ignores the condition. Sends the
 * events of buckets with notifications.
 */
import { createHash } from 'node:crypto';
import { arns } from '../aws-environment.ts';
import type { RequiredPermission } from '../policy/evaluate.ts';
import {
  unknownOperation,
  type Operation,
  type Service,
  type ServiceError,
  type WireRequest,
  type WireResponse,
} from './wire.ts';

interface ObjectOperation {
  readonly name: string;
  readonly permission: string;
}

/** The operation, by the method and the query. Only operations that the product uses. */
function objectOperation({ method, query }: WireRequest): ObjectOperation | undefined {
  if (method === 'GET') return { name: 'GetObject', permission: 'GetObject' };
  if (method === 'HEAD') return { name: 'HeadObject', permission: 'GetObject' };
  if (method === 'DELETE' && query.has('uploadId')) return { name: 'AbortMultipartUpload', permission: 'AbortMultipartUpload' };
  if (method === 'DELETE') return { name: 'DeleteObject', permission: 'DeleteObject' };
  if (method === 'PUT' && query.has('uploadId')) return { name: 'UploadPart', permission: 'PutObject' };
  if (method === 'PUT') return { name: 'PutObject', permission: 'PutObject' };
  if (method === 'POST' && query.has('uploads')) return { name: 'CreateMultipartUpload', permission: 'PutObject' };
  if (method === 'POST' && query.has('uploadId')) return { name: 'CompleteMultipartUpload', permission: 'PutObject' };
  return undefined;
}

/** The decoded names of the bucket and of the object. */
function objectOf({ path }: WireRequest): { readonly bucket: string; readonly key: string } {
  const [, bucket = '', ...rest] = decodeURIComponent(path).split('/');
  return { bucket, key: rest.join('/') };
}

function parse(request: WireRequest): Operation | ServiceError {
  const { bucket, key } = objectOf(request);
  const operation = (named: ObjectOperation, resource: string): Operation => {
    const tagging =
      named.permission === 'PutObject' && request.headers['x-amz-tagging'] !== undefined ? ['PutObjectTagging'] : [];
    const requiredPermissions: readonly RequiredPermission[] = [named.permission, ...tagging].map((permission) => ({
      action: `s3:${permission}`,
      resource,
    }));
    // A copy also reads its source.
    const source = request.headers['x-amz-copy-source'];
    const [sourceBucket = '', ...sourceKey] = decodeURIComponent(source ?? '')
      .replace(/^\//, '')
      .split('/');
    const reads: readonly RequiredPermission[] =
      source === undefined ? [] : [{ action: 's3:GetObject', resource: arns.object(sourceBucket, sourceKey.join('/')) }];
    return { name: named.name, input: undefined, requiredPermissions: [...requiredPermissions, ...reads] };
  };
  if (key === '') {
    return request.method === 'GET' && bucket !== ''
      ? operation({ name: 'ListObjects', permission: 'ListBucket' }, arns.bucket(bucket))
      : unknownOperation(`${request.method} of a bucket`);
  }
  const named = objectOperation(request);
  return named === undefined ? unknownOperation(`${request.method} of an object`) : operation(named, arns.object(bucket, key));
}

const escapeXml = (text: string): string => text.replace(/[<>&"']/g, (character) => `&#${character.charCodeAt(0)};`);

function toErrorResponse(error: ServiceError): WireResponse {
  const code = error.code === 'AccessDeniedException' ? 'AccessDenied' : error.code;
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${escapeXml(error.message)}</Message></Error>`;
  return { status: error.status, headers: { 'content-type': 'application/xml' }, body: Buffer.from(xml) };
}

const preconditionFailed: ServiceError = {
  code: 'PreconditionFailed',
  message: 'At least one of the pre-conditions you specified did not hold',
  status: 412,
};

const badDigest: ServiceError = {
  code: 'BadDigest',
  message: 'The SHA256 you specified did not match the calculated checksum.',
  status: 400,
};

/**
 * Where a header contains the body's SHA-256, the body is the object's bytes, and its declared encoding is removed: the
 * emulator would check the digest of an `aws-chunked` body. undefined: the bytes do not match the digest.
 */
function withVerifiedDigest(request: WireRequest): WireRequest | undefined {
  const { 'x-amz-checksum-sha256': declaredDigest, 'content-encoding': encoding, ...headers } = request.headers;
  if (declaredDigest === undefined) return request;
  if (createHash('sha256').update(request.body).digest('base64') !== declaredDigest) return undefined;
  const isChunked = encoding?.includes('aws-chunked') === true;
  return isChunked ? { ...request, headers: { ...headers, 'x-amz-checksum-sha256': declaredDigest } } : request;
}

interface ObjectChange {
  readonly bucket: string;
  /** decoded */
  readonly key: string;
  /** the operation that changed the object */
  readonly reason: 'PutObject' | 'CopyObject' | 'CompleteMultipartUpload' | 'DeleteObject';
  /** undefined for a deletion */
  readonly size?: number | undefined;
  readonly etag?: string | undefined;
}

export interface ObjectEvents {
  /** Whether S3 sends events of this bucket. */
  readonly notifies: (bucket: string) => boolean;
  /** Settles when the event is in the queues of the matching rules. */
  readonly send: (change: ObjectChange) => Promise<void>;
}

type Forward = (request: WireRequest) => Promise<WireResponse>;

const headOf = ({ path }: WireRequest, headers: WireRequest['headers'] = {}): WireRequest => ({
  method: 'HEAD',
  path,
  url: path,
  query: new URLSearchParams(),
  headers,
  body: Buffer.alloc(0),
});

/** The change that a successful request made to its object; undefined: it made none that S3 sends an event for. */
async function changeBy(
  request: WireRequest,
  name: string,
  response: WireResponse,
  forward: Forward,
): Promise<ObjectChange | undefined> {
  const object = objectOf(request);
  const etagIn = ({ headers }: WireResponse): string | undefined => headers['etag']?.replaceAll('"', '');
  if (name === 'DeleteObject') return { ...object, reason: name };
  if (name === 'PutObject' && request.headers['x-amz-copy-source'] === undefined) {
    const size = Number(request.headers['x-amz-decoded-content-length'] ?? request.body.length);
    return { ...object, reason: name, size, etag: etagIn(response) };
  }
  if (name !== 'PutObject' && name !== 'CompleteMultipartUpload') return undefined;
  // These responses do not contain the size.
  const head = await forward(headOf(request));
  const reason = name === 'PutObject' ? 'CopyObject' : name;
  // Another request has deleted the object since.
  if (head.status !== 200) return { ...object, reason };
  return { ...object, reason, size: Number(head.headers['content-length']), etag: etagIn(head) };
}

export function s3(forward: Forward, events?: ObjectEvents): Service {
  /** conditional puts, by object. They run one after the other, because the check and the put are two requests here. */
  const pendingPuts = new Map<string, Promise<unknown>>();

  async function putIfAbsent(request: WireRequest): Promise<WireResponse> {
    const previousPut = pendingPuts.get(request.path) ?? Promise.resolve();
    const currentPut = previousPut.then(async () => {
      const { 'content-length': _, ...headers } = request.headers;
      const existing = await forward(headOf(request, headers));
      return existing.status === 200 ? toErrorResponse(preconditionFailed) : forward(request);
    });
    const settled = currentPut
      .catch(() => undefined)
      .finally(() => pendingPuts.get(request.path) === settled && pendingPuts.delete(request.path));
    pendingPuts.set(request.path, settled);
    return currentPut;
  }

  async function execute(request: WireRequest, name: string): Promise<WireResponse> {
    if (name !== 'PutObject') return forward(request);
    const put = withVerifiedDigest(request);
    if (put === undefined) return toErrorResponse(badDigest);
    return put.headers['if-none-match'] === '*' ? putIfAbsent(put) : forward(put);
  }

  return {
    name: 's3',
    parse,
    async handle(request, { name }) {
      const response = await execute(request, name);
      if (events === undefined || response.status >= 300 || !events.notifies(objectOf(request).bucket)) return response;
      const change = await changeBy(request, name, response, forward);
      if (change !== undefined) await events.send(change);
      return response;
    },
    toErrorResponse,
  };
}
