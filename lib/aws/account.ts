/**
 * What an account allows, read with an operator's own credentials. The requests are few and plain, so they are signed here: a
 * client of the SDK for each service would be three packages for four requests.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { createHash, createHmac } from 'node:crypto';
import { STSClient } from '@aws-sdk/client-sts';
import * as z from 'zod';

/** undefined: AWS did not tell */
export interface Account {
  readonly region: string;
  /** concurrent executions: the quota, and what of it is reserved for no function */
  readonly concurrency: number;
  readonly unreserved: number;
  /** requests a second to all APIs of the account, and how many at once */
  readonly requestRate: number | undefined;
  readonly requestBurst: number | undefined;
  /** whether API Gateway has the role with which it writes logs */
  readonly hasLogRole: boolean;
  readonly schedules: number | undefined;
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface AccountQuestion {
  /** absent: that of the credentials' own configuration */
  readonly region?: string;
  readonly fetch: Fetch;
  /** of the epoch, in milliseconds */
  readonly now: () => number;
}

/** No credentials, or no region: the operator's to mend, before anything is asked. */
export class NotConfigured extends Error {
  override readonly name = 'NotConfigured';
}

/** What AWS answered instead. */
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
export async function readAccount(question: AccountQuestion): Promise<Account> {
  const ask = await asker(question);
  const lambda = lambdaShape.parse(await ask.get('lambda', '/2016-08-19/account-settings'));
  // Not Service Quotas: in some regions it says 10,000 where the account has 2,500.
  const gateway = gatewayShape.parse(await ask.get('apigateway', '/account'));
  return {
    region: ask.region,
    concurrency: lambda.AccountLimit.ConcurrentExecutions,
    unreserved: lambda.AccountLimit.UnreservedConcurrentExecutions,
    requestRate: gateway.throttleSettings?.rateLimit,
    requestBurst: gateway.throttleSettings?.burstLimit,
    hasLogRole: (gateway.cloudwatchRoleArn ?? '') !== '',
    schedules: await quotaNamed(ask, 'scheduler', 'Number of schedules'),
  };
}

/** More pages than any service has quotas. */
const mostPages = 20;

async function quotaNamed(ask: Asker, service: string, name: string): Promise<number | undefined> {
  let token: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const input = { ServiceCode: service, ...(token === undefined ? {} : { NextToken: token }) };
    const { Quotas, NextToken } = quotasShape.parse(
      await ask.call('servicequotas', 'ServiceQuotasV20190624.ListServiceQuotas', input),
    );
    const found = Quotas.find(({ QuotaName }) => QuotaName.toLowerCase() === name.toLowerCase());
    if (found !== undefined) return found.Value;
    if (NextToken === undefined || NextToken === null) return undefined;
    token = NextToken;
  }
  return undefined;
}

interface Asker {
  readonly region: string;
  get(service: string, path: string): Promise<unknown>;
  call(service: string, target: string, input: object): Promise<unknown>;
}

const patienceMs = 10_000;

async function asker({ region: wanted, fetch, now }: AccountQuestion): Promise<Asker> {
  const { config } = new STSClient(wanted === undefined ? {} : { region: wanted });
  const [region, credentials] = await Promise.all([config.region(), config.credentials()]).catch((trouble: unknown) => {
    const said = trouble instanceof Error ? trouble.message : String(trouble);
    throw new NotConfigured(said, { cause: trouble });
  });
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';

  async function send(
    service: string,
    method: 'GET' | 'POST',
    path: string,
    given: Record<string, string>,
    body: string,
  ): Promise<unknown> {
    const host = `${service}.${region}.${domain}`;
    const date = new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, '');
    const headers: Record<string, string> = {
      ...given,
      host,
      'x-amz-date': date,
      ...(credentials.sessionToken === undefined ? {} : { 'x-amz-security-token': credentials.sessionToken }),
    };
    const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
    const signature = signatureOf({ method, path, headers, body, date, scope, secret: credentials.secretAccessKey });
    const signedNames = Object.keys(headers).toSorted().join(';');
    const authorization = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${signedNames}, Signature=${signature}`;
    const response = await fetch(`https://${host}${path}`, {
      method,
      headers: { ...headers, authorization },
      ...(method === 'POST' ? { body } : {}),
      signal: AbortSignal.timeout(patienceMs),
    });
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

interface ToSign {
  readonly method: string;
  /** of letters, digits, `-` and `/` alone, and without a query: nothing in it needs to be escaped */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly date: string;
  readonly scope: string;
  readonly secret: string;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

function signatureOf({ method, path, headers, body, date, scope, secret }: ToSign): string {
  const names = Object.keys(headers).toSorted();
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join('');
  const canonical = [method, path, '', lines, names.join(';'), sha256(body)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return hmac(key, `AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha256(canonical)}`).toString('hex');
}
