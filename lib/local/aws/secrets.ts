/** Secrets Manager: the three operations that the product uses, over the secrets of the template and those of the owner. */
import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { arns } from '../place.ts';
import { type SecretStore, secretNameIn } from '../secret-store.ts';
import {
  jsonBody,
  jsonFault,
  jsonResponse,
  targetOperation,
  unknownOperation,
  type Service,
  type ServiceFault,
  type WireResponse,
} from './wire.ts';

const inputShape = z.looseObject({
  SecretId: z.string().min(1),
  SecretString: z.string().max(65_536).optional(),
  ClientRequestToken: z.string().min(32).max(64).optional(),
  VersionStage: z.string().optional(),
});

const operations = new Set(['GetSecretValue', 'PutSecretValue', 'DescribeSecret']);
const type = 'application/x-amz-json-1.1';
const current = 'AWSCURRENT';

const fault = (code: string, message: string): ServiceFault => ({ code, message, status: 400 });
const unknownSecret = fault('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
const noValue = fault(
  'ResourceNotFoundException',
  `Secrets Manager can't find the specified secret value for staging label: ${current}`,
);

/** @param made the ARNs of the template's secrets */
export function secretsManager(store: SecretStore, made: ReadonlySet<string>): Service {
  const arnOf = (id: string): string => (id.startsWith('arn:') ? id : arns.secret(id));
  const refuse = (one: ServiceFault): WireResponse => jsonFault('', one, type);

  function put(arn: string, text: string, version: string): WireResponse {
    const standing = store.read(arn);
    if (standing?.version === version && standing.text !== text)
      return refuse(fault('ResourceExistsException', 'The token was used with another value.'));
    if (standing?.version !== version) store.write(arn, { text, version, createdAt: Date.now() });
    return jsonResponse(200, { ARN: arn, Name: secretNameIn(arn), VersionId: version, VersionStages: [current] }, type);
  }

  return {
    name: 'secretsmanager',
    read(request) {
      const name = targetOperation(request);
      if (!operations.has(name)) return unknownOperation(name);
      const input = inputShape.safeParse(jsonBody(request));
      if (!input.success) return fault('ValidationException', z.prettifyError(input.error));
      // What is recorded of a request must not be what it keeps secret.
      const { SecretString: _secret, ...shown } = input.data;
      const needs = [{ action: `secretsmanager:${name}`, resource: arnOf(input.data.SecretId) }];
      return { name, input: shown, needs };
    },
    async answer(request, { name }) {
      const {
        SecretId,
        SecretString,
        ClientRequestToken = randomUUID(),
        VersionStage = current,
      } = inputShape.parse(jsonBody(request));
      const arn = arnOf(SecretId);
      const standing = store.read(arn);
      if (standing === undefined && !made.has(arn)) return refuse(unknownSecret);
      if (name === 'PutSecretValue') {
        if (SecretString === undefined) return refuse(fault('InvalidRequestException', 'You must provide SecretString.'));
        return put(arn, SecretString, ClientRequestToken);
      }
      const common = { ARN: arn, Name: secretNameIn(arn), CreatedDate: (standing?.createdAt ?? 0) / 1_000 };
      if (name === 'DescribeSecret') {
        const versions = standing === undefined ? {} : { VersionIdsToStages: { [standing.version]: [current] } };
        return jsonResponse(200, { ...common, ...versions }, type);
      }
      if (standing === undefined || VersionStage !== current) return refuse(noValue);
      const value = { VersionId: standing.version, VersionStages: [current], SecretString: standing.text };
      return jsonResponse(200, { ...common, ...value }, type);
    },
    refuse,
  };
}
