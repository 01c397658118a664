# cosid in the official image of PostgreSQL
#
#   docker build -t postgres-cosid --build-arg PG_MAJOR=15 .
#   docker run -e POSTGRES_PASSWORD=... postgres-cosid

ARG PG_MAJOR=15

FROM postgres:$PG_MAJOR AS build
COPY . /usr/src/cosid
RUN DESTDIR=/out /usr/src/cosid/scripts/install.sh

FROM postgres:$PG_MAJOR
COPY --from=build /out/ /
CMD ["postgres", "-c", "shared_preload_libraries=cosid"]
