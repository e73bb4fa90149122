/** A request to the embedded cloud's gateway, signed as AWS's clients sign theirs. */
import { signatureOf } from '../lib/local/aws/signature.ts';
import { awsEnvironment } from '../lib/local/aws-environment.ts';

export interface Signer {
  readonly url: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Headers of the request, `host` among them, with the authorization. */
export function signedHeaders(
  { url, accessKeyId, secretAccessKey }: Signer,
  service: string,
  request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Buffer;
  },
): Record<string, string> {
  const date = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const scope = `${date.slice(0, 8)}/${awsEnvironment.region}/${service}/aws4_request`;
  const headers: Record<string, string> = { ...request.headers, host: new URL(url).host, 'x-amz-date': date };
  const terms = { scope, date, signedHeaders: Object.keys(headers).toSorted() };
  const query = new URL(request.path, url).searchParams;
  const signature = signatureOf({ ...request, url: request.path, query, headers }, terms, secretAccessKey);
  const credential = `Credential=${accessKeyId}/${scope}, SignedHeaders=${terms.signedHeaders.join(';')}, Signature=${signature}`;
  return { ...headers, authorization: `AWS4-HMAC-SHA256 ${credential}` };
}

/** Asks DynamoDB's wire protocol, without a client's judgement of what comes back. */
export async function askTables(signer: Signer, operation: string, input: object): Promise<unknown> {
  const body = Buffer.from(JSON.stringify(input));
  const plain = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `DynamoDB_20120810.${operation}` };
  const headers = signedHeaders(signer, 'dynamodb', { method: 'POST', path: '/', headers: plain, body });
  const response = await fetch(signer.url, { method: 'POST', headers, body });
  const output: unknown = await response.json();
  if (!response.ok) throw new Error(`${operation}: ${JSON.stringify(output)}`);
  return output;
}
