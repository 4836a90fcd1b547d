//! Streams that look at what is read and have nothing to say about what is written.

/// What one field reads is shown to `look`, which may end it. Writes go there as they are.
macro_rules! look_through {
    ($stream:ident for $type:ty) => {
        impl<S: ::tokio::io::AsyncRead + Unpin> ::tokio::io::AsyncRead for $type {
            fn poll_read(
                mut self: ::std::pin::Pin<&mut Self>,
                context: &mut ::std::task::Context<'_>,
                into: &mut ::tokio::io::ReadBuf<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                let before = into.filled().len();
                ::std::task::ready!(::std::pin::Pin::new(&mut self.$stream).poll_read(context, into))?;
                ::std::task::Poll::Ready(self.look(&into.filled()[before..]))
            }
        }

        impl<S: $crate::relay::BreakOff> $crate::relay::BreakOff for $type {
            fn break_off(&mut self) {
                self.$stream.break_off();
            }
        }

        $crate::through::write_through!($stream for $type);
    };
}

/// Writes go to one field as they are.
macro_rules! write_through {
    ($stream:ident for $type:ty $(, $bound:path)?) => {
        impl<S: ::tokio::io::AsyncWrite $(+ $bound)? + Unpin> ::tokio::io::AsyncWrite for $type {
            fn poll_write(
                mut self: ::std::pin::Pin<&mut Self>,
                context: &mut ::std::task::Context<'_>,
                bytes: &[u8],
            ) -> ::std::task::Poll<::std::io::Result<usize>> {
                ::std::pin::Pin::new(&mut self.$stream).poll_write(context, bytes)
            }

            fn poll_write_vectored(
                mut self: ::std::pin::Pin<&mut Self>,
                context: &mut ::std::task::Context<'_>,
                pieces: &[::std::io::IoSlice<'_>],
            ) -> ::std::task::Poll<::std::io::Result<usize>> {
                ::std::pin::Pin::new(&mut self.$stream).poll_write_vectored(context, pieces)
            }

            fn is_write_vectored(&self) -> bool {
                self.$stream.is_write_vectored()
            }

            fn poll_flush(
                mut self: ::std::pin::Pin<&mut Self>,
                context: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                ::std::pin::Pin::new(&mut self.$stream).poll_flush(context)
            }

            fn poll_shutdown(
                mut self: ::std::pin::Pin<&mut Self>,
                context: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                ::std::pin::Pin::new(&mut self.$stream).poll_shutdown(context)
            }
        }
    };
}

pub(crate) use {look_through, write_through};
