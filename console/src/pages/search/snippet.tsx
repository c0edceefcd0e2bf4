/** The best matching part, in which ** stands around the words that matched. It is text: nothing in it is taken for markup. */
export function Snippet({ text }: { text: string }) {
  return (
    <span class="snippet">
      {text.split('**').map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part))}
    </span>
  );
}
