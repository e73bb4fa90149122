/** Contract of `Secrets`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Secrets } from '../../lib/ports/secrets.ts';
import type { Opened, Subject } from './subject.ts';

export interface SecretsUnderTest {
  readonly secrets: Secrets;
  /** ARNs of secrets without a text */
  readonly empty: readonly [string, string];
  /** the ARN of a missing secret */
  readonly unknownName: string;
}

const token = (letter: string): string => letter.repeat(32);

export const secretsSuite = ({ name, open }: Subject<SecretsUnderTest>) =>
  describe(`secrets: ${name}`, () => {
    let opened: Opened<SecretsUnderTest>;
    let subject: SecretsUnderTest;
    beforeAll(async () => {
      opened = await open();
      subject = opened.port;
    });
    afterAll(() => opened.close());

    test('a secret has no text at first, and then the last one that was set', async () => {
      const { secrets, empty } = subject;
      const [one, other] = empty;
      expect(await secrets.value(one)).toBeUndefined();
      await secrets.setValue(one, 'a text, ü', token('a'));
      expect(await secrets.value(one)).toBe('a text, ü');
      await secrets.setValue(one, 'another', token('b'));
      await secrets.setValue(one, 'another', token('b'));
      expect(await secrets.value(one)).toBe('another');
      expect(await secrets.value(other)).toBeUndefined();
    });

    test('a missing secret has no text and cannot be set', async () => {
      const { secrets, unknownName } = subject;
      expect(await secrets.value(unknownName)).toBeUndefined();
      await expect(secrets.setValue(unknownName, 'text', token('c'))).rejects.toThrow();
      expect(await secrets.value(unknownName)).toBeUndefined();
    });
  });
