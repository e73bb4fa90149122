/**
 * Reads the quotas of an AWS account with the operator's credentials. It signs four requests with the SDK's signer, because
 * SDK clients would need three more packages.
 */
import { defined } from '../base/defined.ts';
import { STSClient } from '@aws-sdk/client-sts';
import { SignatureV4 } from '@smithy/signature-v4';
import * as z from 'zod';

/** A member is undefined if AWS did not return it. */
export interface Account {
  readonly region: string;
  /** concurrent executions: the quota, and the part that no function reserves */
  readonly concurrency: number;
  readonly unreserved: number;
  /** API Gateway's account limits: requests per second, and burst */
  readonly requestRate: number | undefined;
  readonly requestBurst: number | undefined;
  /** whether API Gateway has the role with which it writes logs */
  readonly hasLogRole: boolean;
  readonly schedules: number | undefined;
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface AccountRequest {
  /** absent: the region of the operator's AWS configuration */
  readonly region?: string;
  readonly fetch: Fetch;
  /** epoch milliseconds */
  readonly now: () => number;
}

/** No credentials or no region are configured. Thrown before any request. */
export class NotConfigured extends Error {
  override readonly name = 'NotConfigured';
}

/** AWS responded with an error. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

const lambdaShape = z.looseObject({
  AccountLimit: z.looseObject({ ConcurrentExecutions: z.number(), UnreservedConcurrentExecutions: z.number() }),
});
const gatewayShape = z.looseObject({
  throttleSettings: z.looseObject({ rateLimit: z.number().optional(), burstLimit: z.number().optional() }).nullish(),
  cloudwatchRoleArn: z.string().nullish(),
});
const quotasShape = z.looseObject({
  Quotas: z.array(z.looseObject({ QuotaName: z.string(), Value: z.number() })).default([]),
  NextToken: z.string().nullish(),
});

/** @throws NotConfigured, Refused */
export async function readAccount(request: AccountRequest): Promise<Account> {
  const client = await createSignedClient(request);
  const lambda = lambdaShape.parse(await client.get('lambda', '/2016-08-19/account-settings'));
  // Not Service Quotas: in some regions it returns 10,000 for an account with 2,500.
  const gateway = gatewayShape.parse(await client.get('apigateway', '/account'));
  return {
    region: client.region,
    concurrency: lambda.AccountLimit.ConcurrentExecutions,
    unreserved: lambda.AccountLimit.UnreservedConcurrentExecutions,
    requestRate: gateway.throttleSettings?.rateLimit,
    requestBurst: gateway.throttleSettings?.burstLimit,
    hasLogRole: (gateway.cloudwatchRoleArn ?? '') !== '',
    schedules: await quotaNamed(client, 'scheduler', 'Number of schedules'),
  };
}

/** More pages than the quotas of any service fill. */
const maxPages = 20;

async function quotaNamed(client: SignedClient, service: string, name: string): Promise<number | undefined> {
  let token: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const input = defined({ ServiceCode: service, NextToken: token });
    const { Quotas, NextToken } = quotasShape.parse(
      await client.call('servicequotas', 'ServiceQuotasV20190624.ListServiceQuotas', input),
    );
    const found = Quotas.find(({ QuotaName }) => QuotaName.toLowerCase() === name.toLowerCase());
    if (found !== undefined) return found.Value;
    if (NextToken === undefined || NextToken === null) return undefined;
    token = NextToken;
  }
  return undefined;
}

interface SignedClient {
  readonly region: string;
  get(service: string, path: string): Promise<unknown>;
  call(service: string, target: string, input: object): Promise<unknown>;
}

const requestTimeoutMs = 10_000;

async function createSignedClient({ region: regionOverride, fetch, now }: AccountRequest): Promise<SignedClient> {
  const { config } = new STSClient(regionOverride === undefined ? {} : { region: regionOverride });
  const [region, credentials] = await Promise.all([config.region(), config.credentials()]).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    throw new NotConfigured(message, { cause: error });
  });
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';

  async function send(
    service: string,
    method: 'GET' | 'POST',
    path: string,
    extraHeaders: Record<string, string>,
    body: string,
  ): Promise<unknown> {
    const hostname = `${service}.${region}.${domain}`;
    const signer = new SignatureV4({ service, region, credentials, sha256: config.sha256 });
    const request = { method, protocol: 'https:', hostname, path, headers: { ...extraHeaders, host: hostname }, body };
    const { headers } = await signer.sign(request, { signingDate: new Date(now()) });
    const response = await fetch(
      `https://${hostname}${path}`,
      defined({
        method,
        headers,
        body: method === 'POST' ? body : undefined,
        signal: AbortSignal.timeout(requestTimeoutMs),
      }),
    );
    const text = await response.text();
    if (!response.ok) throw new Refused(`${service} answered ${response.status}: ${text.slice(0, 500)}`);
    return JSON.parse(text);
  }

  return {
    region,
    get: (service, path) => send(service, 'GET', path, {}, ''),
    call: (service, target, input) =>
      send(service, 'POST', '/', { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': target }, JSON.stringify(input)),
  };
}
