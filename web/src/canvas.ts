// Returns a cleared pen of the canvas at the resolution of the screen; its unit is a CSS pixel.
export function sizeCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  const w = Math.round(width * ratio);
  const h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d")!;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

// Calls back with the width of an element once it has one, and after each change.
export function onWidth(element: HTMLElement, tell: (width: number) => void): void {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width === 0 || width === last) return;
    last = width;
    tell(width);
  }).observe(element);
}
