/** STS: AssumeRole. The caller's role must allow it, and the target role must trust the caller. */
import { randomBytes } from 'node:crypto';
import { lastPart, awsEnvironment } from '../aws-environment.ts';
import { readCredential } from './signature.ts';
import type { Principals } from './principals.ts';
import { type Service, type ServiceError, type WireRequest, type WireResponse, unknownOperation } from './wire.ts';

/** The limits of STS, in seconds. A chained session (a session that assumes a role) lasts an hour at most. */
const durationSeconds = { min: 900, max: 3_600 } as const;
const accountRoot = `arn:${awsEnvironment.partition}:iam::${awsEnvironment.account}:root`;
const sessionName = /^[\w+=,.@-]{2,64}$/;

const escapeXml = (text: string): string => text.replace(/[<>&"']/g, (character) => `&#${character.charCodeAt(0)};`);

const xml = (status: number, body: string): WireResponse => ({
  status,
  headers: { 'content-type': 'text/xml' },
  body: Buffer.from(body),
});

const toErrorResponse = ({ status, code, message }: ServiceError): WireResponse => {
  const isDenied = code === 'AccessDeniedException';
  const error = `<Type>Sender</Type><Code>${isDenied ? 'AccessDenied' : code}</Code><Message>${escapeXml(message)}</Message>`;
  return xml(isDenied ? 403 : status, `<ErrorResponse><Error>${error}</Error></ErrorResponse>`);
};

const invalid = (message: string): ServiceError => ({ code: 'ValidationError', message, status: 400 });

function parseAssumeRole({ body }: WireRequest) {
  const form = new URLSearchParams(body.toString('utf8'));
  return {
    action: form.get('Action') ?? '',
    roleArn: form.get('RoleArn') ?? '',
    name: form.get('RoleSessionName') ?? '',
    seconds: Number(form.get('DurationSeconds') ?? durationSeconds.max),
  };
}

/** @param trust the roles that may assume a role, by its ARN */
export function sts(principals: Principals, trust: ReadonlyMap<string, readonly string[]>): Service {
  return {
    name: 'sts',
    parse(request) {
      const { action, roleArn, name, seconds } = parseAssumeRole(request);
      if (action !== 'AssumeRole') return unknownOperation(action);
      if (!sessionName.test(name)) return invalid('RoleSessionName must be 2 to 64 letters, digits and +=,.@-_');
      if (!(seconds >= durationSeconds.min && seconds <= durationSeconds.max))
        return invalid(`DurationSeconds must be ${durationSeconds.min} to ${durationSeconds.max}`);
      return {
        name: action,
        input: { roleArn, sessionName: name },
        requiredPermissions: [{ action: 'sts:AssumeRole', resource: roleArn }],
      };
    },
    async handle(request) {
      const { roleArn, name, seconds } = parseAssumeRole(request);
      const caller = principals.byKey(readCredential(request)?.accessKeyId ?? '');
      const trusted = trust.get(roleArn) ?? [];
      // Trust in an account covers every principal of the account whose own policy allows the call.
      if (caller === undefined || !(trusted.includes(caller.roleArn) || trusted.includes(accountRoot))) {
        const message = `${caller?.arn ?? 'an unknown caller'} is not trusted by ${roleArn}`;
        return toErrorResponse({ code: 'AccessDeniedException', message, status: 403 });
      }
      const expiresAt = new Date(Date.now() + seconds * 1_000);
      const { arn, accessKeyId, secretAccessKey } = principals.createSessionPrincipal(name, roleArn, expiresAt);
      const credentials = [
        `<AccessKeyId>${accessKeyId}</AccessKeyId>`,
        `<SecretAccessKey>${secretAccessKey}</SecretAccessKey>`,
        // Clients send it with each request. It is not checked, because the secret proves the caller.
        `<SessionToken>${randomBytes(20).toString('hex')}</SessionToken>`,
        `<Expiration>${expiresAt.toISOString()}</Expiration>`,
      ].join('');
      const user = `<Arn>${escapeXml(arn)}</Arn><AssumedRoleId>${lastPart(roleArn)}:${escapeXml(name)}</AssumedRoleId>`;
      const result = `<Credentials>${credentials}</Credentials><AssumedRoleUser>${user}</AssumedRoleUser>`;
      return xml(
        200,
        `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>${result}</AssumeRoleResult></AssumeRoleResponse>`,
      );
    },
    toErrorResponse,
  };
}
