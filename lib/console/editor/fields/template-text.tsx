/** A text that can contain templates. It grows with its lines. */
import type { ReactNode } from 'react';
import type { Described } from './field-view.tsx';

interface TemplateTextProps {
  readonly described: Described;
  readonly value: string;
  readonly placeholder: string;
  readonly onChange: (text: string) => void;
}

const maxRows = 14;

export const TemplateText = ({
  described: { id, describedBy, isInvalid },
  value,
  placeholder,
  onChange,
}: TemplateTextProps): ReactNode => (
  <textarea
    id={id}
    aria-describedby={describedBy}
    aria-invalid={isInvalid || undefined}
    rows={Math.min(maxRows, value.split('\n').length)}
    value={value}
    placeholder={placeholder}
    spellCheck={false}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
);
