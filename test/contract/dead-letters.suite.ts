/** Contract of `DeadLetters`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { originalIdAttribute, reasonAttribute } from '../../lib/codec/trigger-messages.ts';
import type { DeadLetter, DeadLetters } from '../../lib/ports/dead-letters.ts';
import type { Opened, Subject } from './subject.ts';

export interface DeadLettersUnderTest {
  readonly letters: DeadLetters;
  readonly urls: { readonly standard: string; readonly fifo: string };
  /** receives and deletes the messages; an attribute is its type and its text, or its bytes in base64 */
  taken(url: string): Promise<
    readonly {
      readonly body: string;
      readonly groupId: string | undefined;
      readonly attributes: Readonly<Record<string, readonly unknown[]>>;
    }[]
  >;
}

export const deadLettersSuite = ({ name, open }: Subject<DeadLettersUnderTest>) =>
  describe(`dead letters: ${name}`, () => {
    let opened: Opened<DeadLettersUnderTest>;
    beforeAll(async () => void (opened = await open()));
    afterAll(() => opened.close());

    const send = async (letter: Partial<DeadLetter>, kind: 'standard' | 'fifo' = 'standard') => {
      const { letters, urls } = opened.port;
      await letters.send({
        queueUrl: urls[kind],
        body: '{}',
        attributes: {},
        messageId: 'm1',
        reason: 'not_json: no',
        ...letter,
      });
    };
    const taken = (kind: 'standard' | 'fifo' = 'standard') => opened.port.taken(opened.port.urls[kind]);

    test('a letter has the body and the attributes of the message, its id and the reason', async () => {
      const attributes = {
        shop: { dataType: 'String', stringValue: 'berlin' },
        count: { dataType: 'Number.int', stringValue: '3' },
        icon: { dataType: 'Binary', binaryValue: 'AAEC' },
      };
      await send({ body: 'no JSON', attributes });
      expect(await taken()).toEqual([
        {
          body: 'no JSON',
          groupId: undefined,
          attributes: {
            shop: ['String', 'berlin'],
            count: ['Number.int', '3'],
            icon: ['Binary', 'AAEC'],
            [originalIdAttribute]: ['String', 'm1'],
            [reasonAttribute]: ['String', 'not_json: no'],
          },
        },
      ]);
    });

    test('a letter that comes a second time has the new reason', async () => {
      const own = (text: string) => ({ dataType: 'String', stringValue: text });
      await send({ attributes: { [originalIdAttribute]: own('m1'), [reasonAttribute]: own('old') }, reason: 'new' });
      const [letter] = await taken();
      expect(letter?.attributes).toEqual({ [originalIdAttribute]: ['String', 'm1'], [reasonAttribute]: ['String', 'new'] });
    });

    test('a message with nine attributes keeps them all and its id, and only the log has the reason', async () => {
      const attributes = Object.fromEntries(
        Array.from({ length: 9 }, (_, index) => [`a${index}`, { dataType: 'String', stringValue: 'x' }]),
      );
      await send({ attributes });
      const [letter] = await taken();
      expect(Object.keys(letter?.attributes ?? {}).toSorted()).toEqual(
        [...Object.keys(attributes), originalIdAttribute].toSorted(),
      );
    });

    test('a reason with characters that SQS refuses, or that is very long, is stored', async () => {
      await send({ reason: `bad\u0000\ud800 ${'x'.repeat(5_000)}` });
      const [letter] = await taken();
      expect(letter?.attributes[reasonAttribute]?.[1]).toBe(`bad\ufffd\ufffd ${'x'.repeat(1_018)}`);
    });

    test('a letter of a FIFO queue keeps its group, and a repeated one is there once', async () => {
      await send({ groupId: 'g' }, 'fifo');
      await send({ groupId: 'g' }, 'fifo');
      expect((await taken('fifo')).map(({ groupId }) => groupId)).toEqual(['g']);
    });
  });
