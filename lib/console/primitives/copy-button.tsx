/** Copies a text, and says so for a moment. */
import { type ReactNode, useEffect, useState } from 'react';

const shownMs = 1_500;

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), shownMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <button
      type="button"
      className="quiet"
      onClick={() => {
        navigator.clipboard.writeText(text).then(
          () => setCopied(true),
          () => setCopied(false),
        );
      }}
    >
      {isCopied ? 'Copied' : label}
    </button>
  );
}
