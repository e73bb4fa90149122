/** STS: AssumeRole, by which a function lends another role. The role of whoever asks must allow it, and the other role must trust it. */
import { randomBytes } from 'node:crypto';
import { lastPart, place } from '../place.ts';
import { readCredential } from './credential.ts';
import type { Principals } from './principals.ts';
import { type Service, type ServiceFault, type WireRequest, type WireResponse, unknownOperation } from './wire.ts';

/** What STS takes, in seconds: a session that was asked for with a session lasts an hour at most. */
const duration = { least: 900, most: 3_600 } as const;
const wholeAccount = `arn:${place.partition}:iam::${place.account}:root`;
const sessionName = /^[\w+=,.@-]{2,64}$/;

const escapeXml = (text: string): string => text.replace(/[<>&"']/g, (character) => `&#${character.charCodeAt(0)};`);

const xml = (status: number, body: string): WireResponse => ({
  status,
  headers: { 'content-type': 'text/xml' },
  body: Buffer.from(body),
});

const refuse = ({ status, code, message }: ServiceFault): WireResponse => {
  const isDenied = code === 'AccessDeniedException';
  const error = `<Type>Sender</Type><Code>${isDenied ? 'AccessDenied' : code}</Code><Message>${escapeXml(message)}</Message>`;
  return xml(isDenied ? 403 : status, `<ErrorResponse><Error>${error}</Error></ErrorResponse>`);
};

const invalid = (message: string): ServiceFault => ({ code: 'ValidationError', message, status: 400 });

function asked({ body }: WireRequest) {
  const given = new URLSearchParams(body.toString('utf8'));
  return {
    action: given.get('Action') ?? '',
    roleArn: given.get('RoleArn') ?? '',
    name: given.get('RoleSessionName') ?? '',
    seconds: Number(given.get('DurationSeconds') ?? duration.most),
  };
}

/** @param trust the roles that may take a role, by its ARN */
export function sts(principals: Principals, trust: ReadonlyMap<string, readonly string[]>): Service {
  return {
    name: 'sts',
    read(request) {
      const { action, roleArn, name, seconds } = asked(request);
      if (action !== 'AssumeRole') return unknownOperation(action);
      if (!sessionName.test(name)) return invalid('RoleSessionName must be 2 to 64 letters, digits and +=,.@-_');
      if (!(seconds >= duration.least && seconds <= duration.most))
        return invalid(`DurationSeconds must be ${duration.least} to ${duration.most}`);
      return { name: action, input: { roleArn, sessionName: name }, needs: [{ action: 'sts:AssumeRole', resource: roleArn }] };
    },
    async answer(request) {
      const { roleArn, name, seconds } = asked(request);
      const asker = principals.byKey(readCredential(request)?.accessKeyId ?? '');
      const trusted = trust.get(roleArn) ?? [];
      // Trust in an account is trust in all of it whose own policy allows them to ask.
      if (asker === undefined || !(trusted.includes(asker.roleArn) || trusted.includes(wholeAccount))) {
        const message = `${asker?.arn ?? 'nobody'} is not trusted by ${roleArn}`;
        return refuse({ code: 'AccessDeniedException', message, status: 403 });
      }
      const until = new Date(Date.now() + seconds * 1_000);
      const { arn, accessKeyId, secretAccessKey } = principals.lend(name, roleArn, until);
      const credentials = [
        `<AccessKeyId>${accessKeyId}</AccessKeyId>`,
        `<SecretAccessKey>${secretAccessKey}</SecretAccessKey>`,
        // It is sent along with each request, and is not looked at: the secret is proof enough.
        `<SessionToken>${randomBytes(20).toString('hex')}</SessionToken>`,
        `<Expiration>${until.toISOString()}</Expiration>`,
      ].join('');
      const user = `<Arn>${escapeXml(arn)}</Arn><AssumedRoleId>${lastPart(roleArn)}:${escapeXml(name)}</AssumedRoleId>`;
      const result = `<Credentials>${credentials}</Credentials><AssumedRoleUser>${user}</AssumedRoleUser>`;
      return xml(
        200,
        `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>${result}</AssumeRoleResult></AssumeRoleResponse>`,
      );
    },
    refuse,
  };
}
