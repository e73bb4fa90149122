/** S3: finds the bucket and object of a request. Checks conditional puts itself, because the emulator ignores the condition. */
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

function parse(request: WireRequest): Operation | ServiceError {
  const [, bucket = '', ...rest] = decodeURIComponent(request.path).split('/');
  const key = rest.join('/');
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

export function s3(forward: (request: WireRequest) => Promise<WireResponse>): Service {
  /** conditional puts, by object. They run one after the other, because the check and the put are two requests here. */
  const pendingPuts = new Map<string, Promise<unknown>>();

  async function putIfAbsent(request: WireRequest): Promise<WireResponse> {
    const previousPut = pendingPuts.get(request.path) ?? Promise.resolve();
    const currentPut = previousPut.then(async () => {
      const { 'content-length': _, ...headers } = request.headers;
      const existing = await forward({ ...request, method: 'HEAD', url: request.path, headers, body: Buffer.alloc(0) });
      return existing.status === 200 ? toErrorResponse(preconditionFailed) : forward(request);
    });
    const settled = currentPut
      .catch(() => undefined)
      .finally(() => pendingPuts.get(request.path) === settled && pendingPuts.delete(request.path));
    pendingPuts.set(request.path, settled);
    return currentPut;
  }

  return {
    name: 's3',
    parse,
    async handle(request, { name }) {
      if (name !== 'PutObject') return forward(request);
      const put = withVerifiedDigest(request);
      if (put === undefined) return toErrorResponse(badDigest);
      return put.headers['if-none-match'] === '*' ? putIfAbsent(put) : forward(put);
    },
    toErrorResponse,
  };
}
